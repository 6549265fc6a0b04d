// What a process does before it may say who has left: it loads the key of opt-outs, and copies what the release before
// has written.
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandDeps } from '../deps.ts'
import { createAddressMac, loadAddressKey } from './addressMac.ts'
import { takeOverWorkflows } from './takeOver.ts'

const LOOK_MS = 250
const AWAY_MS = 1_000
/** How long the API waits before it listens, so that few requests meet a MAC function that throws. */
const FIRST_MS = 1_000

type Deps = Pick<CommandDeps, 'db' | 'secrets' | 'now' | 'newId' | 'wake'>

/**
 * Resolves to the MAC function when nobody who left can be missed.
 * @throws SecretError; database errors
 */
export async function prepareOptOuts(deps: Deps, signal?: AbortSignal) {
  const { of, setKey } = createAddressMac()
  await fill(deps, { of, setKey }, signal)
  return of
}

/**
 * Like `prepareOptOuts`, for a process that answers before its database is there: until then the MAC function throws.
 * @returns the function, and a promise of the first try's end, or of a second if that takes longer
 */
export function prepareOptOutsLater(
  deps: Deps,
  hooks: { signal: AbortSignal; onFailure: (err: unknown) => void },
) {
  const mac = createAddressMac()
  const { signal, onFailure } = hooks
  const tryOnce = (): Promise<boolean> =>
    fill(deps, mac, signal).then(
      () => true,
      (err: unknown) => {
        onFailure(err)
        return false
      },
    )
  const trying = tryOnce()
  void trying.then(async (isDone) => {
    while (!isDone && !signal.aborted) {
      await delay(AWAY_MS, null, { signal }).catch(() => undefined)
      isDone = await tryOnce()
    }
  })
  const first = Promise.race([trying, delay(FIRST_MS, false, { ref: false })])
  return { addressMac: mac.of, first }
}

async function fill(
  deps: Deps,
  mac: ReturnType<typeof createAddressMac>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const key = await loadAddressKey(deps)
  const copying = createAddressMac()
  copying.setKey(key)
  while (!(await takeOverWorkflows({ ...deps, addressMac: copying.of }))) {
    if (signal?.aborted) return
    await delay(LOOK_MS)
  }
  mac.setKey(key)
}
