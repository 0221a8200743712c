// SPDX-License-Identifier: MIT
// Clients of the npm package bittorrent-tracker. A line of input is a call of one of them:
//   {"client": NAME, "call": "new", "with": OPTIONS}, then "start", "complete", "update", ...
// A line of output is what one of them has heard: {"client": NAME, "event": EVENT, "heard": DATA}.
'use strict';

const readline = require('readline');
const Client = require('bittorrent-tracker');

const clients = new Map();

function make(name, options) {
  const client = new Client(options);
  for (const event of ['update', 'peer', 'scrape', 'warning', 'error']) {
    client.on(event, (heard) => {
      const data = heard instanceof Error ? heard.message : heard;
      console.log(JSON.stringify({ client: name, event, heard: data }));
    });
  }
  clients.set(name, client);
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { client, call, with: options } = JSON.parse(line);
  if (call === 'new') make(client, options);
  else clients.get(client)[call](options);
});
lines.on('close', () => process.exit(0));
