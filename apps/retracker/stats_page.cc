// SPDX-License-Identifier: MIT
#include "retracker/stats.h"

namespace sluice::cli {

std::string_view stats_page() {
  return R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>retracker</title>
<meta name="viewport" content="width=device-width">
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
body{color:#222;background:#fff}
h1{font-size:1.3rem}p{margin:.3rem 0}b{font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;margin-top:1rem}
th,td{text-align:right;padding:.25rem .6rem;border-bottom:1px solid #ddd}
td{font-variant-numeric:tabular-nums}
tr>:first-child,#up tr>:nth-child(2),#up tr>:last-child{text-align:left}
.ok{color:#176639}.suspended,.open{color:#8a5a00}.disabled{color:#a11}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}
.ok{color:#6c6}.suspended,.open{color:#db5}.disabled{color:#f77}}
</style></head><body>
<h1>retracker</h1><p id="swarms">&nbsp;</p><p id="requests">&nbsp;</p><p id="queue">&nbsp;</p>
<table id="up"><thead><tr><th>Forwarder</th><th>State</th><th>Sent</th><th>OK</th><th>Refused</th>
<th>Failed</th><th>Now</th><th>ms</th><th>Why, and when it is tried next</th></tr></thead>
<tbody id="rows"></tbody></table>
<p id="note"></p>
<table><thead><tr><th>Largest torrents</th><th>Seeders</th><th>Leechers</th><th>Downloads</th>
<th>Upstream peers</th></tr></thead><tbody id="hashes"></tbody></table>
<table><thead><tr><th>Clients</th><th>Peers</th></tr></thead><tbody id="clients"></tbody></table>
<script>
const at = id => document.getElementById(id);
const put = (id, ...parts) => at(id).replaceChildren(...parts.map((part, i) => {
  if (i % 2 === 0) return part;
  const b = document.createElement('b'); b.textContent = part; return b;
}));
function row(f) {
  const tr = document.createElement('tr');
  const waits = f.next_try_ms > 0 && f.state !== 'disabled';
  const wait = waits ? ` (in ${Math.ceil(f.next_try_ms / 1000)} s)` : '';
  const cells = [f.name, f.state, f.sent, f.ok, f.refused + f.busy, f.unreachable, f.in_flight,
                 f.response_ms, f.reason + wait];
  for (const cell of cells) tr.insertCell().textContent = cell;
  tr.cells[0].title = f.uri; tr.cells[1].className = f.state;
  return tr;
}
function line(...cells) {
  const tr = document.createElement('tr');
  for (const cell of cells) tr.insertCell().textContent = cell;
  return tr;
}
async function refresh() {
  try {
    const s = await (await fetch('/stats?format=json&limit=10')).json();
    put('swarms', 'Torrents ', s.torrents, ' · peers ', s.peers, ' · seeders ', s.seeders);
    put('requests', 'Announces ', s.requests.announces_http, ' over HTTP, ',
        s.requests.announces_udp, ' over UDP · refused ', s.requests.refused);
    const q = s.queue, j = s.jobs;
    put('queue', 'Queue ', q.depth, ' of ', q.capacity, ' · in flight ', q.running,
        ' · scheduled ', q.scheduled, ' · sent ', j.succeeded, ' · failed ', j.failed);
    at('rows').replaceChildren(...s.forwarders.map(row));
    at('hashes').replaceChildren(...s.hashes.map(h =>
        line(h.info_hash, h.seeders, h.leechers, h.downloads, h.upstream_peers)));
    at('clients').replaceChildren(...s.clients.map(c => line(c.name, c.peers)));
    at('note').textContent = s.forwarders.length ? '' : 'There are no forwarders.';
  } catch (error) { at('note').textContent = 'It does not answer: ' + error.message; }
}
refresh(); setInterval(refresh, 2000);
</script></body></html>
)";
}

}  // namespace sluice::cli
