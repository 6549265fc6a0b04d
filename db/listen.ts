// Listens for the NOTIFY of a channel over a separate connection, and reconnects when it breaks or falls silent.
import pg from 'pg'
import type { WakeChannel } from '../rules/wire.ts'

const RECONNECT_MS = 1_000

export interface ListenTimes {
  /** How long after an answer the connection is asked again whether it is still there: whoever only listens never learns that it is not. */
  look_ms: number
  /** What takes longer to answer counts as broken. */
  answer_ms: number
}

const usual: ListenTimes = { look_ms: 5_000, answer_ms: 3_000 }

/**
 * Calls `onWake` at each notification, and once after every (re)connect, because some may have been missed.
 * @returns a function that stops listening
 */
export function listen(
  url: string,
  channel: WakeChannel,
  onWake: () => void,
  onError: (err: unknown) => void,
  { look_ms, answer_ms }: ListenTimes = usual,
): () => Promise<void> {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const open = async () => {
    const opened = new pg.Client({
      connectionString: url,
      application_name: 'dripline-listen',
      connectionTimeoutMillis: 5_000,
      query_timeout: answer_ms,
    })
    client = opened
    let broken = false
    const reopen = (err?: unknown) => {
      if (broken || stopped) return
      broken = true
      if (err) onError(err)
      opened.end().catch(() => {})
      clearTimeout(timer)
      timer = setTimeout(() => void open(), RECONNECT_MS)
    }
    const ask = async (text: string) => {
      await opened.query(text)
      if (broken || stopped) return
      timer = setTimeout(() => void ask('select').catch(reopen), look_ms)
    }
    opened.on('error', reopen)
    opened.on('end', () => reopen())
    opened.on('notification', onWake)
    try {
      await opened.connect()
      await ask(`listen ${channel}`)
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
