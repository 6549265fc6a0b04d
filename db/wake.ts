// Wakes listening workers after a commit. NOTIFY inside the writing transactions would serialise their commits,
// so it is sent beside them, at most once at a time; a worker polls each second for what a crash left unsaid.
import type pg from 'pg'
import type { WakeChannel } from '../rules/wire.ts'

export type Wake = (channel: WakeChannel) => void

/** A wake function that never throws and never waits: calls made while a NOTIFY is under way share the next one. */
export function createWake(pool: pg.Pool, onError: (err: unknown) => void): Wake {
  const state = new Map<WakeChannel, 'sending' | 'again'>()
  const send = async (channel: WakeChannel): Promise<void> => {
    do {
      state.set(channel, 'sending')
      try {
        await pool.query(`notify ${channel}`)
      } catch (err) {
        onError(err)
      }
    } while (state.get(channel) === 'again')
    state.delete(channel)
  }
  return (channel) => {
    if (state.has(channel)) state.set(channel, 'again')
    else void send(channel)
  }
}
