// SPDX-License-Identifier: MIT
// Stands between a client and the service, and does to requests what networks do.
import { connect, createServer, type Server, type Socket } from "node:net";
import { url } from "./world.js";

/**
 * pass: as if it were not there. swallow: the service gets the request and answers, but the client
 * only sees its connection break. drop: the connection breaks before the service gets anything.
 * hang: nothing comes back. A text is answered instead of the service. A promise is waited for.
 */
export type Turn = Act | Promise<Act>;
export type Act = "pass" | "swallow" | "drop" | "hang" | { answer: string };

export class Peer {
  /** What to do with the requests to come; after that they pass. */
  turns: Turn[] = [];
  /** The requests that came, head and body. */
  requests: string[] = [];
  url = "";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static start(...turns: Turn[]): Promise<Peer> {
    const peer = new Peer();
    peer.turns = turns;
    return new Promise((resolve) => {
      peer.#server.listen(0, "127.0.0.1", () => {
        peer.url = `http://127.0.0.1:${peer.#server.address().port}`;
        resolve(peer);
      });
    });
  }

  /** How many sockets are open, on both sides. */
  get open(): number {
    return this.#sockets.size;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A header of a request. */
  header(request: number, name: string): string | undefined {
    const pattern = new RegExp(`^${name}: (.*?)\r$`, "im");
    return this.requests[request]?.split("\r\n\r\n")[0]?.match(pattern)?.[1];
  }

  #serve(client: Socket): void {
    const service = connect(Number(new URL(url).port), "127.0.0.1");
    const end = () => {
      client.destroy();
      service.destroy();
    };
    for (const socket of [client, service]) {
      this.#sockets.add(socket);
      socket.on("error", end).on("close", () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    let text = "";
    let turn: Act = "pass";
    client.on("data", async (data) => {
      text += String.fromCharCode(...data);
      const head = text.indexOf("\r\n\r\n");
      const length = Number(text.match(/^content-length: (\d+)/im)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      const request = Uint8Array.from(text, (char) => char.charCodeAt(0));
      this.requests.push(text);
      text = "";
      turn = await (this.turns.shift() ?? "pass");
      if (turn === "drop") end();
      else if (typeof turn === "object") client.write(turn.answer);
      else if (turn !== "hang") service.write(request);
    });
    service.on("data", (data) => {
      if (turn === "swallow") end();
      else client.write(data);
    });
  }
}

/** An answer as sluiced gives it when it refuses. */
export function refusal(status: number, code: string, headers = ""): Act {
  const body = JSON.stringify({ error: { code, message: `it is ${code}`, advice: "wait" } });
  return { answer: answer(status, "application/json", body, headers) };
}

export function answer(status: number, type: string, body: string, headers = ""): string {
  return `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n` +
    `${headers}\r\n${body}`;
}
