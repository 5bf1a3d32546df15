#!/usr/bin/env python3
"""proxy.py - a network between tuners and the queue's server, for tests: it forwards from one unix
socket to another until it is told to fail.

    proxy.py LISTEN SERVER [SECONDS]

SIGUSR1: every connection is cut, and new ones are for two seconds.  SIGUSR2: for two seconds nothing
is forwarded, while connections stay open.  SECONDS: the answer to a statement that counts trials
takes so long, byte by byte."""
import asyncio
import os
import signal
import sys
import time

cut_until = silent_until = 0.0
writers = set()


async def trickle(data, writer):
    pause = float(sys.argv[3]) / len(data)
    for i in range(len(data)):
        writer.write(data[i : i + 1])
        await writer.drain()
        await asyncio.sleep(pause)


async def pump(reader, writer, asked, answers):
    writers.add(writer)
    try:
        while data := await reader.read(65536):
            while time.monotonic() < silent_until:
                await asyncio.sleep(0.1)
            if answers and asked and len(data) > 20:
                asked.clear()
                await trickle(data, writer)
                continue
            if not answers and b"count(j.id)" in data and len(sys.argv) > 3:
                asked.append(True)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writers.discard(writer)
        writer.close()


async def serve(reader, writer):
    if time.monotonic() < cut_until:
        writer.close()
        return
    try:
        there = await asyncio.open_unix_connection(sys.argv[2])
    except OSError:
        writer.close()
        return
    asked = []
    await asyncio.gather(pump(reader, there[1], asked, False), pump(there[0], writer, asked, True))


def cut():
    global cut_until
    cut_until = time.monotonic() + 2
    for writer in list(writers):
        writer.transport.abort()


def silence():
    global silent_until
    silent_until = time.monotonic() + 2


async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, cut)
    loop.add_signal_handler(signal.SIGUSR2, silence)
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    os.chmod(sys.argv[1], 0o777)
    await server.serve_forever()


asyncio.run(main())
