// Scripted responses of Node's http2 over TLS: http2.mjs FOLDER. One server supports HTTP/1.1 and HTTP/2, the other HTTP/2.
// /early/STATUS/SIZE[/length] responds before it reads the request, then resets the stream with NO_ERROR (RFC 9113 §8.1).
// /goaway/N ends the connection at each Nth stream and ignores its later streams; /close ends it at each stream.
// /refuse/N refuses each Nth stream (REFUSED_STREAM); /refuse/N/read does so after content has arrived.
// /http1 wants HTTP/1.1 (HTTP_1_1_REQUIRED), by which it responds as /version; /http1/read says so after content has arrived.
// /cut/SIZE resets the stream with NO_ERROR within content without a length.
// /count responds with the number of ids (queries), and of those that came twice; /version with the HTTP version, and the
// number of the connection as a header field.
import fs from 'node:fs'
import http2 from 'node:http2'

const folder = process.argv[2]
const tls = { key: fs.readFileSync(folder + '/server.key'), cert: fs.readFileSync(folder + '/server.pem') }
const none = http2.constants.NGHTTP2_NO_ERROR
let seen = new Map(), streams = 0, sessions = 0

function answer(request, response) {
  const [path, id] = request.url.split('?')
  const [, kind, first, second, third] = path.split('/')
  const stream = request.httpVersionMajor === 2 ? request.stream : null
  if (kind === 'count') {
    const twice = [...seen.values()].filter(count => count > 1).length
    response.end(JSON.stringify({ ids: seen.size, twice }))
    seen = new Map()
    return
  }
  if (kind === 'refuse' && stream && ++streams % Number(first) === 0) {
    const refuse = () => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM)
    if (second === 'read') request.once('data', refuse)
    else refuse()
    return
  }
  if (kind === 'http1' && stream) {
    const require = () => stream.close(http2.constants.NGHTTP2_HTTP_1_1_REQUIRED)
    if (first === 'read') request.once('data', require)
    else require()
    return
  }
  const session = stream?.session
  if (session?.last && stream.id > session.last) return
  seen.set(id, (seen.get(id) ?? 0) + 1)
  const send = (status, size, hasLength) => {
    response.writeHead(status, hasLength ? { 'content-length': size } : {})
    response.end(Buffer.alloc(size))
  }
  const sendAtEnd = () => request.resume().on('end', () => send(200, 2, false))
  switch (kind) {
    case 'early':
      send(Number(first), Number(second), third === 'length')
      stream?.close(none)
      break
    case 'cut':
      response.writeHead(200)
      response.write(Buffer.alloc(Number(first)), () => stream ? stream.close(none) : response.socket.destroy())
      break
    case 'goaway':
      if (session && ++streams % Number(first) === 0) {
        session.last = stream.id
        session.goaway(none, stream.id)
      }
      sendAtEnd()
      break
    case 'close': session?.close(); sendAtEnd(); break
    case 'http1':
    case 'version':
      if (session) response.setHeader('x-connection', session.number ??= ++sessions)
      // After the whole request: an earlier end of the stream is the subject of /early alone.
      request.resume().on('end', () => response.end(request.httpVersion))
      break
    default: sendAtEnd()
  }
}

process.on('uncaughtException', () => {})
const servers = ['node', 'h2only'].map(name => {
  const server = http2.createSecureServer({ ...tls, allowHTTP1: name === 'node' }, answer)
  server.on('sessionError', () => {})
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(`${name}=https://localhost:${server.address().port}/`)))
})
console.log((await Promise.all(servers)).join('\n'))
