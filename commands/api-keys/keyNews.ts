// Hears from Postgres when a key was revoked by another process.
import { type ListenTimes, listen } from '../../db/listen.ts'
import type { KeyNews } from './keyCache.ts'

/** Listens until `stop`. A break is told at once: until the connection is back, nothing is heard. */
export function listenForKeys(
  databaseUrl: string,
  onError: (err: unknown) => void,
  times?: ListenTimes,
): KeyNews & { stop(): Promise<void> } {
  let heard = false
  const listeners: (() => void)[] = []
  const tell = () => {
    for (const changed of listeners) changed()
  }
  const stop = listen(
    databaseUrl,
    'dripline_api_keys',
    () => {
      heard = true
      tell()
    },
    (err) => {
      heard = false
      tell()
      onError(err)
    },
    times,
  )
  return { isHeard: () => heard, onChange: (changed) => void listeners.push(changed), stop }
}
