// SPDX-License-Identifier: MIT
#include "retracker/stats.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kPage = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>retracker</title>
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
body{color:#222;background:#fff}
h1{font-size:1.3rem}p{margin:.3rem 0}b{font-variant-numeric:tabular-nums}
#note:not(:empty){color:#a11;font-weight:600}
table{border-collapse:collapse;width:100%;margin-top:1.5rem}
th,td{text-align:right;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #ddd}
th{vertical-align:bottom}
td{font-variant-numeric:tabular-nums}
tr>:first-child,#up tr>:nth-child(2),#up tr>:nth-last-child(-n+2){text-align:left}
tr>:first-child,td.why{overflow-wrap:anywhere}
#hashes td:first-child{font-family:ui-monospace,monospace;font-size:.9em}
td.next{white-space:nowrap}
#up td:first-child{min-width:14rem}
.ok{color:#176639}.suspended,.open,.leaving{color:#8a5a00}.disabled{color:#a11}
@media(max-width:48rem){
body{margin:1rem auto}th,td{padding:.25rem .4rem}
.cards:not([hidden]),.cards thead,.cards tbody{display:block}
.cards th:not(:first-child){display:none}
.cards th:first-child,#torrents td:first-child,td.why,td.next{grid-column:1/-1}
.cards tr{display:grid;grid-template-columns:repeat(3,1fr);padding:.5rem 0}
.cards tr{border-bottom:1px solid #ddd}
#torrents tr{grid-template-columns:repeat(2,1fr)}
.cards th,.cards td{border:0;padding:0 .4rem;text-align:left}
#up td:first-child{grid-column:span 2;font-weight:600;min-width:0}
.cards td[data-of]:not(:empty)::before{content:attr(data-of) ' ';opacity:.7}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}
th,td,.cards tr{border-color:#444}
.ok{color:#6c6}.suspended,.open,.leaving{color:#db5}.disabled,#note:not(:empty){color:#f77}}
</style></head><body>
<h1>retracker</h1><p id="note"></p>
<p id="swarms">&nbsp;</p><p id="requests">&nbsp;</p><p id="queue">&nbsp;</p>
<table id="up" class="cards" hidden><thead><tr><th>Forwarder</th><th>State</th><th>Sent</th>
<th>OK</th><th>Refused</th><th>Failed</th><th>Now</th><th>ms</th><th>Why</th>
<th>Next try</th></tr></thead>
<tbody id="rows"></tbody></table>
<table id="torrents" class="cards" hidden><thead><tr><th>Largest torrents</th><th>Seeders</th>
<th>Leechers</th><th>Downloads</th><th>Upstream peers</th></tr></thead>
<tbody id="hashes"></tbody></table>
<table hidden><thead><tr><th>Clients</th><th>Peers</th></tr></thead>
<tbody id="clients"></tbody></table>
<script>
const at = id => document.getElementById(id);
const put = (id, ...parts) => at(id).replaceChildren(...parts.map((part, i) => {
  if (i % 2 === 0) return part;
  const b = document.createElement('b'); b.textContent = part; return b;
}));
// A label is shown where there is no room for a heading.
function line(cells, labels = []) {
  const tr = document.createElement('tr');
  cells.forEach((cell, i) => {
    const td = tr.insertCell();
    td.textContent = cell;
    if (labels[i]) td.dataset.of = labels[i];
  });
  return tr;
}
function time(s) {
  if (s < 120) return `${s} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}
function next(f) {
  if (f.state === 'disabled') return 'after a reload';
  return f.next_try_ms > 0 ? `in ${time(Math.ceil(f.next_try_ms / 1000))}` : '';
}
const figures = ['', '', 'sent', 'ok', 'refused', 'failed', 'now', 'ms', '', 'next try'];
function forwarder(f) {
  const tr = line([f.name, f.state, f.sent, f.ok, f.refused + f.busy, f.unreachable, f.in_flight,
                   f.response_ms, f.reason, next(f)], figures);
  tr.cells[0].title = f.uri;
  tr.cells[1].className = f.state;
  tr.cells[8].className = 'why';
  tr.cells[9].className = 'next';
  return tr;
}
const counts = ['', 'seeders', 'leechers', 'downloads', 'upstream peers'];
const torrent = t =>
  line([t.info_hash, t.seeders, t.leechers, t.downloads, t.upstream_peers], counts);
function fill(id, rows) {
  at(id).replaceChildren(...rows);
  at(id).parentNode.hidden = !rows.length;
}
async function refresh() {
  try {
    const s = await (await fetch('/stats?format=json&limit=10')).json();
    put('swarms', 'Torrents ', s.torrents, ' · peers ', s.peers, ' · seeders ', s.seeders);
    put('requests', 'Announces ', s.requests.announces_http, ' over HTTP, ',
        s.requests.announces_udp, ' over UDP · refused ', s.requests.refused);
    const q = s.queue, j = s.jobs;
    put('queue', 'Queue ', q.depth, ' of ', q.capacity, ' · in flight ', q.running,
        ' · scheduled ', q.scheduled, ' · succeeded ', j.succeeded, ' · failed ', j.failed,
        s.forwarders.length ? '' : ' · There are no forwarders.');
    fill('rows', s.forwarders.map(forwarder));
    fill('hashes', s.hashes.map(torrent));
    fill('clients', s.clients.map(c => line([c.name, c.peers])));
    at('note').textContent = '';
  } catch (error) { at('note').textContent = 'It does not answer: ' + error.message; }
}
refresh(); setInterval(refresh, 2000);
</script></body></html>
)";

}  // namespace

std::string_view stats_page() {
  return kPage;
}

}  // namespace sluice::cli
