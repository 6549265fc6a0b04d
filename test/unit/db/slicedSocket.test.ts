// A large write goes out whole and in order, and other work runs while it does.
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { SlicedSocket } from '../../../db/slicedSocket.ts'

const MEBIBYTE = 1024 * 1024

it.each(['alone', 'corked with small ones'])('writes 20 MB %s', async (how) => {
  const came: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('data', (piece) => came.push(piece))
    socket.on('end', () => socket.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const large = Buffer.alloc(20 * MEBIBYTE)
  for (let i = 0; i < large.length; i += 4) large.writeUInt32LE(i, i)
  const small = Buffer.from('small')
  const sent = how === 'alone' ? [large] : [small, large, small]

  const socket = new SlicedSocket().connect(port, '127.0.0.1')
  socket.resume()
  await new Promise((resolve) => socket.once('connect', resolve))
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
  expect(turns).toBeGreaterThanOrEqual(large.length / (256 * 1024))
  server.close()
})
