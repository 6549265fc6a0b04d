// Makes ids that sort by time.
import { encodeTime, type IdKind, idPrefixes, type NewId } from '../rules/ids.ts'
import { createRandomPool } from './randomPool.ts'

const RANDOM_CHARS = 16
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Makes `newId`: `newId('email')` is `em_`, 10 characters of time and 16 random ones. Ids of one process always
 * increase: within a millisecond, or if the clock steps back, the random part counts up.
 */
export function createNewId(now: () => Date): NewId {
  const random = new Uint8Array(RANDOM_CHARS)
  const draw = createRandomPool(RANDOM_CHARS)
  let last = -1
  const newId = (kind: IdKind): string => {
    const ms = now().getTime()
    if (ms > last) {
      last = ms
      draw(random)
      for (let i = 0; i < RANDOM_CHARS; i++) random[i] = (random[i] ?? 0) & 31
      random[0] = (random[0] ?? 0) & 15 // leaves room to count up
    } else {
      for (let i = 15; i >= 0; i--) {
        const next = ((random[i] ?? 0) + 1) & 31
        random[i] = next
        if (next !== 0) break
      }
    }
    let tail = ''
    for (let i = 0; i < 16; i++) tail += ALPHABET[random[i] ?? 0]
    return `${idPrefixes[kind]}_${encodeTime(last)}${tail}`
  }
  return newId as NewId
}
