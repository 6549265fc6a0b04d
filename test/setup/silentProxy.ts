// A way to a server that falls silent, as where a firewall has forgotten a connection: nobody hears that it is gone.
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Starts it; it ends with the test. What comes after `fallSilent`, from either side, is lost; that of clients is counted.
 * @param target host and port
 */
export async function startProxy(target: string) {
  const [host = '', port = ''] = target.split(':')
  let isSilent = false
  let unheard_bytes = 0
  const server = createServer((socket) => {
    const upstream = connect(Number(port), host)
    socket.on('data', (chunk) => {
      if (isSilent) unheard_bytes += chunk.length
      else upstream.write(chunk)
    })
    upstream.on('data', (chunk) => void (isSilent || socket.write(chunk)))
    for (const end of [socket, upstream]) {
      end.on('error', () => undefined)
      onTestFinished(() => void end.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const at = server.address()
  if (at === null || typeof at === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${at.port}`,
    fallSilent: () => {
      isSilent = true
    },
    unheard_bytes: () => unheard_bytes,
  }
}
