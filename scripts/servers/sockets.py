# Echoes messages of WebSockets: sockets.py websockets|aiohttp FOLDER, or cuts what passes: sockets.py cut PORT
# Prints its ports, the one with TLS last.
import asyncio, random, resource, socket, ssl, struct, sys

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def contexts(folder):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder + "/server.pem", folder + "/server.key")
    return [None, tls]

async def websockets(folder):
    from websockets.asyncio.server import serve
    async def echo(peer):
        async for message in peer: await peer.send(message)
    servers = [await serve(echo, "127.0.0.1", 0, ssl=tls, max_size=None, open_timeout=600) for tls in contexts(folder)]
    return [server.sockets[0].getsockname()[1] for server in servers]

async def aiohttp(folder):
    from aiohttp import web
    async def echo(request):
        peer = web.WebSocketResponse(max_msg_size=0)
        await peer.prepare(request)
        async for message in peer: await peer.send_bytes(message.data)
        return peer
    app = web.Application()
    app.router.add_get("/", echo)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    sites = [web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls) for tls in contexts(folder)]
    for site in sites: await site.start()
    return [address[1] for address in runner.addresses]

# Ends each connection after so many bytes of either side, one in two by a reset.
async def cut(port):
    source = random.Random(1)
    async def talk(reader, writer):
        left, resets = [int(2 ** source.uniform(0, 18))], source.random() < 0.5
        other = await asyncio.open_connection("127.0.0.1", int(port))
        def end():
            for one in (writer, other[1]):
                if resets: one.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.transport.abort() if resets else one.close()
        async def pass_on(source, sink):
            try:
                while left[0] > 0 and (data := await source.read(min(65536, left[0]))):
                    left[0] -= len(data)
                    sink.write(data)
                    await sink.drain()
            except OSError: pass
            end()
        await asyncio.gather(pass_on(reader, other[1]), pass_on(other[0], writer))
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    return [server.sockets[0].getsockname()[1]]

async def main():
    print(*await globals()[sys.argv[1]](sys.argv[2]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
