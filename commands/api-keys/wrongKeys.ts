// Slows the answers to whoever sends many wrong keys. Requests with a good key never wait for this, whoever sends them.
import { LRUCache } from 'lru-cache'
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'

/** So many wrong keys of one client within the window are answered at once: somebody has mistyped a key. */
const QUICK_MAX = 20
const WINDOW_MS = 10_000
const PAUSE_MS = 1_000
const CLIENTS_MAX = 10_000
/** Answers that are held back at a time. More of them would only fill the memory. */
const PAUSED_MAX = 5_000

/**
 * Makes a function that returns when the refusal of a wrong key may be answered: at once, or after a second for a
 * client with many: an IPv4 address, or a /64 of IPv6. Behind a proxy that is not trusted all are one client.
 * @param pause waits so many ms
 * @param pausedMax answers that are held back at a time
 */
export function createWrongKeyPause(
  pause: (ms: number) => Promise<unknown>,
  now: () => Date,
  pausedMax = PAUSED_MAX,
) {
  const counts = new LRUCache<string, { since: number; count: number }>({ max: CLIENTS_MAX })
  let paused = 0
  /** @param address the client's; empty when it is not known, which is never slowed */
  return async (address: string): Promise<void> => {
    if (address === '') return
    const time = now().getTime()
    const client = clientNetwork(address)
    let counted = counts.get(client)
    if (!counted || time - counted.since > WINDOW_MS) counted = { since: time, count: 0 }
    counted.count++
    counts.set(client, counted)
    if (counted.count <= QUICK_MAX || paused >= pausedMax) return
    paused++
    try {
      await pause(PAUSE_MS)
    } finally {
      paused--
    }
  }
}
