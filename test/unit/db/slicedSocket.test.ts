// A large write goes out whole and in order, and other work runs while it does.
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { expect, it } from 'vitest'
import { sliceWrites } from '../../../db/slicedSocket.ts'
import { certificateFiles } from '../inbound/certificate.ts'

const MEBIBYTE = 1024 * 1024
const PIECE_BYTES = 200 * 1024

it.each([
  ['alone', 'plain'],
  ['corked with small ones', 'plain'],
  ['alone', 'with TLS'],
  ['corked with small ones', 'with TLS'],
  ['in pieces of 200 KiB, corked', 'plain'],
  ['in pieces of 200 KiB, corked', 'with TLS'],
])('writes 20 MB %s, %s', async (how, kind) => {
  const isTls = kind === 'with TLS'
  const came: Buffer[] = []
  const onSocket = (socket: Socket) => {
    socket.on('data', (piece) => came.push(piece))
    socket.on('end', () => socket.end())
  }
  const files = isTls ? certificateFiles().files : null
  const server = files
    ? createTlsServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) }, onSocket)
    : createServer(onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const large = Buffer.alloc(20 * MEBIBYTE)
  for (let i = 0; i < large.length; i += 4) large.writeUInt32LE(i, i)
  const small = Buffer.from('small')
  const pieces = Array.from({ length: Math.ceil(large.length / PIECE_BYTES) }, (_, i) =>
    large.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES),
  )
  const sent = { alone: [large], 'corked with small ones': [small, large, small] }[how] ?? pieces

  const socket = isTls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1')
  sliceWrites(socket)
  socket.resume()
  await new Promise((resolve) => socket.once(isTls ? 'secureConnect' : 'connect', resolve))
  let turns = 0
  let isOver = false
  const turn = () => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  turn()
  socket.cork()
  for (const bytes of sent) socket.write(bytes)
  socket.uncork()
  socket.end()
  await new Promise((resolve) => socket.once('close', resolve))
  isOver = true
  expect(Buffer.concat(came).equals(Buffer.concat(sent))).toBe(true)
  expect(turns).toBeGreaterThanOrEqual(
    how.startsWith('in pieces') ? pieces.length / 2 - 1 : large.length / (256 * 1024),
  )
  server.close()
})
