// Wakes listening workers after a commit. NOTIFY inside the writing transactions would serialise their commits, so
// it is sent separately, one at a time for each channel. Workers also poll each second, in case a crash lost a
// NOTIFY.
import type { WakeChannel } from '../rules/wire.ts'
import type { Spare } from './spare.ts'

export type Wake = (channel: WakeChannel) => void

/**
 * Makes a wake function. It never throws and never waits; calls during a NOTIFY share the next one. The connection
 * is not one of the pool: while all of those are in use, what they commit must still wake somebody.
 */
export function createWake(spare: Pick<Spare, 'query'>, onError: (err: unknown) => void): Wake {
  const state = new Map<WakeChannel, 'sending' | 'again'>()
  const send = async (channel: WakeChannel): Promise<void> => {
    do {
      state.set(channel, 'sending')
      try {
        await spare.query(`notify ${channel}`)
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
