// Echoes messages of WebSockets by the package `ws`: node sockets.cjs FOLDER; prints its ports, the one with TLS last.
const { readFileSync } = require('fs');
const { Server } = require('ws');
const folder = process.argv[2];
const tls = { cert: readFileSync(`${folder}/server.pem`), key: readFileSync(`${folder}/server.key`) };
const servers = [require('http').createServer(), require('https').createServer(tls)];
const ports = servers.map((server) => new Promise((resolve) => {
    new Server({ server, perMessageDeflate: true }).on('connection', (peer) =>
        peer.on('message', (data, isBinary) => peer.send(data, { binary: isBinary })));
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
}));
Promise.all(ports).then((ports) => console.log(...ports));
