"""A link that can be long, slow or broken: TCP relays in a process of their own.

Used as a module, Relay() starts the process and talks to it in JSON lines.
`up` is from the client to the broker, `down` the answers.  What is held back
is bounded (WINDOW), so a stalled link pushes back as a real one does.

  open(port)            a new way to 127.0.0.1:port; gives the port to dial
  delay(up, down)       seconds that each byte is held
  throttle(rate)        bytes a second in each direction; 0: no limit
  stall(up, down)       keep connections, pass nothing that way
  cut()                 reset every connection, refuse new ones
  restore()             undo stall and cut
  reset()               reset every connection, accept new ones
  stats()               bytes passed up and down, connections made
"""

import asyncio
import collections
import json
import pathlib
import socket
import struct
import sys

CHUNK = 256 * 1024
WINDOW = 64 * 1024 * 1024


class _Pipe:
    """One direction of one connection."""

    def __init__(self, link, way, reader, writer):
        self.link, self.way = link, way
        self.reader, self.writer = reader, writer
        self.queue = collections.deque()
        self.held = 0
        self.wake = asyncio.Event()

    async def read(self):
        now = asyncio.get_running_loop().time
        try:
            while data := await self.reader.read(CHUNK):
                self.queue.append((now() + self.link.delays[self.way], data))
                self.held += len(data)
                self.wake.set()
                while self.held > WINDOW:
                    await asyncio.sleep(0.01)
        except OSError:
            pass
        self.queue.append((now() + self.link.delays[self.way], b""))
        self.wake.set()

    async def write(self):
        now = asyncio.get_running_loop().time
        while True:
            while not self.queue:
                self.wake.clear()
                await self.wake.wait()
            due, data = self.queue.popleft()
            if due > now():
                await asyncio.sleep(due - now())
            await self.link.gates[self.way].wait()
            if not data:
                return
            if self.link.rate:
                await self.link.pay(self.way, len(data))
            self.held -= len(data)
            self.link.passed[self.way] += len(data)
            try:
                self.writer.write(data)
                await self.writer.drain()
            except OSError:
                return


class _Link:
    """Every port of one relay, and its faults."""

    def __init__(self):
        self.delays = {"up": 0.0, "down": 0.0}
        self.gates = {"up": asyncio.Event(), "down": asyncio.Event()}
        self.paid = {"up": 0.0, "down": 0.0}
        self.passed = {"up": 0, "down": 0}
        self.rate = 0
        self.made = 0
        self.servers = {}  # listening port -> (server or None, target)
        self.writers = set()
        self._open_gates()

    def _open_gates(self):
        for gate in self.gates.values():
            gate.set()

    async def pay(self, way, size):
        now = asyncio.get_running_loop().time()
        self.paid[way] = max(self.paid[way], now) + size / self.rate
        if self.paid[way] > now:
            await asyncio.sleep(self.paid[way] - now)

    async def _serve(self, reader, writer, target):
        try:
            far = await asyncio.open_connection("127.0.0.1", target,
                                                limit=CHUNK)
        except OSError:
            writer.transport.abort()
            return
        self.made += 1
        for end in (writer, far[1]):
            end.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.writers.add(end)
        pipes = [_Pipe(self, "up", reader, far[1]),
                 _Pipe(self, "down", far[0], writer)]
        tasks = [asyncio.create_task(work()) for pipe in pipes
                 for work in (pipe.read, pipe.write)]
        writes = [tasks[1], tasks[3]]
        await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, far[1]):
            self.writers.discard(end)
            end.close()

    async def listen(self, target, port=0):
        server = await asyncio.start_server(
            lambda r, w: self._serve(r, w, target), "127.0.0.1", port,
            limit=CHUNK)
        port = server.sockets[0].getsockname()[1]
        self.servers[port] = (server, target)
        return port

    def reset(self):
        for writer in list(self.writers):
            sock = writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
            writer.transport.abort()
        self.writers.clear()

    def cut(self):
        for port, (server, target) in self.servers.items():
            if server is not None:
                server.close()
                self.servers[port] = (None, target)
        self.reset()

    async def restore(self):
        self._open_gates()
        for port, (server, target) in list(self.servers.items()):
            if server is None:
                await self.listen(target, port)

    def stall(self, **ways):
        for way, held in ways.items():
            if held:
                self.gates[way].clear()
            else:
                self.gates[way].set()

    async def order(self, op, args):
        if op == "open":
            return await self.listen(args["target"])
        if op == "delay":
            self.delays = args
        elif op == "throttle":
            self.rate = args["rate"]
        elif op == "stall":
            self.stall(**args)
        elif op == "cut":
            self.cut()
        elif op == "restore":
            await self.restore()
        elif op == "reset":
            self.reset()
        elif op == "stats":
            return {**self.passed, "connections": self.made}
        return None


async def _main():
    link = _Link()
    loop = asyncio.get_running_loop()
    stdin = asyncio.StreamReader()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    while line := await stdin.readline():
        order = json.loads(line)
        answer = await link.order(order.pop("op"), order)
        print(json.dumps(answer), flush=True)


class Relay:
    def __init__(self, folder):
        import proc
        self._end = proc.end
        self._process = proc.spawn_piped(
            [sys.executable, pathlib.Path(__file__).resolve()],
            pathlib.Path(folder) / "relay.log")

    def _order(self, op, **args):
        self._process.stdin.write(json.dumps({"op": op, **args}) + "\n")
        return json.loads(self._process.stdout.readline())

    def open(self, target):
        return self._order("open", target=target)

    def delay(self, up=0.0, down=0.0):
        self._order("delay", up=up, down=down)

    def throttle(self, rate):
        self._order("throttle", rate=rate)

    def stall(self, up=True, down=True):
        self._order("stall", up=up, down=down)

    def cut(self):
        self._order("cut")

    def restore(self):
        self._order("restore")

    def reset(self):
        self._order("reset")

    def stats(self):
        return self._order("stats")

    def clean(self):
        """The link as it was at first."""
        self.delay()
        self.throttle(0)
        self.restore()

    def end(self):
        self._process.stdin.close()
        self._end(self._process, 5)


if __name__ == "__main__":
    asyncio.run(_main())
