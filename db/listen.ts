// Listens for the NOTIFY of a channel over a separate connection, and reconnects when it breaks.
import pg from 'pg'
import type { WakeChannel } from '../rules/wire.ts'

const RECONNECT_MS = 1_000

/**
 * Calls `onWake` at each notification, and once after every (re)connect, because some may have been missed.
 * @returns a function that stops listening
 */
export function listen(
  url: string,
  channel: WakeChannel,
  onWake: () => void,
  onError: (err: unknown) => void,
): () => Promise<void> {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const open = async () => {
    const opened = new pg.Client({
      connectionString: url,
      application_name: 'dripline-listen',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    })
    client = opened
    let broken = false
    const reopen = (err?: unknown) => {
      if (broken || stopped) return
      broken = true
      if (err) onError(err)
      opened.end().catch(() => {})
      timer = setTimeout(() => void open(), RECONNECT_MS)
    }
    opened.on('error', reopen)
    opened.on('end', () => reopen())
    opened.on('notification', onWake)
    try {
      await opened.connect()
      await opened.query(`listen ${channel}`)
      onWake()
    } catch (err) {
      reopen(err)
    }
  }
  void open()

  return async () => {
    stopped = true
    clearTimeout(timer)
    await client?.end().catch(() => {})
  }
}
