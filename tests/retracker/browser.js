// SPDX-License-Identifier: MIT
// Debian's Chromium with one page in it: browser.js CHROMIUM. A line of input says what to do:
//   {"do": "open", "url": URL, "width": PIXELS, "scheme": "light" or "dark"}, "read" or
//   {"do": "picture", "file": PATH}
// and is answered by one line, {"to": WHAT, ...}, that for "read" has all that the page shows.
'use strict';

const readline = require('readline');
const { chromium } = require('playwright-core');

// Nothing but this machine can be found, whatever page or browser ask for.
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];

let page;
let seen;

async function open(browser, { url, width, scheme }) {
  if (page) await page.close();
  seen = { console: [], asked: [], loads: 0 };
  page = await browser.newPage({ colorScheme: scheme, viewport: { width, height: 800 } });
  page.on('console', (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => seen.console.push(`exception: ${error.message}`));
  page.on('request', (request) => seen.asked.push(request.url()));
  page.on('load', () => { seen.loads += 1; });
  await page.goto(url, { timeout: 0 });
  return {};
}

// Runs in the page.
function shown() {
  const table = (id) => [...document.getElementById(id).rows].map((row) =>
    [...row.cells].map((cell) => cell.textContent));
  const outside = [...document.querySelectorAll('td, th, p')].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.left < 0 || box.right > window.innerWidth);
  });
  const text = (id) => document.getElementById(id).textContent;
  return {
    rows: table('rows'),
    hashes: table('hashes'),
    clients: table('clients'),
    lines: ['swarms', 'requests', 'queue'].map(text),
    note: text('note'),
    colors: [...document.querySelectorAll('#rows td:nth-child(2)')].map((cell) =>
      getComputedStyle(cell).color),
    background: getComputedStyle(document.body).backgroundColor,
    visible: document.body.innerText,
    pageWidth: document.documentElement.scrollWidth,
    windowWidth: window.innerWidth,
    outside: outside.map((element) => element.textContent),
  };
}

const DO = {
  open,
  read: async () => ({ ...await page.evaluate(shown), ...seen }),
  picture: async (browser, { file }) => {
    await page.screenshot({ path: file, fullPage: true });
    return {};
  },
};

async function main() {
  const browser = await chromium.launch({ executablePath: process.argv[2], args: ARGUMENTS,
    timeout: 0 });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    console.log(JSON.stringify({ to: order.do, ...await DO[order.do](browser, order) }));
  }
  await browser.close();
}

main();
