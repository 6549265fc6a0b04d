// Opens the port of an SMTP entrance.
import type { SMTPServer } from 'smtp-server'
import type { Log } from '../runtime/log.ts'

/**
 * Listens, and logs broken connections for debugging: they are no fault of this service.
 * @param what is logged of a broken connection
 * @param answerAll answers the messages that are being taken, and lets none begin any more
 * @returns the port, which the system chooses for 0; `stop` refuses new connections, answers all, and then waits for open ones as the server says:
 * that one tells all of them that it shuts down, those too whose message is being committed
 * @throws Error when the port is taken
 */
export async function listenAt(
  server: SMTPServer,
  { host, port }: { host: string; port: number },
  {
    log,
    what,
    answerAll,
  }: { log: Pick<Log, 'debug'>; what: string; answerAll: () => Promise<void> },
): Promise<{ port: number; stop: () => Promise<void> }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
    server.server.once('listening', () => server.removeListener('error', reject))
  })
  server.on('error', (err) => log.debug({ err }, what))
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async stop() {
      server.server.close()
      await answerAll()
      await new Promise<void>((end) => server.close(() => end()))
    },
  }
}
