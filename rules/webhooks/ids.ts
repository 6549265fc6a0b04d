// Ids of webhook events and deliveries: a uuid in Postgres, a prefix and 26 Crockford characters outside. Both begin with the time.
import { type IdKind, idPrefixes, isId } from '../ids.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** All pairs of them, by the ten bits that each stands for. */
const pairs = Array.from({ length: 1_024 }, (_, n) => `${DIGITS[n >> 5]}${DIGITS[n & 31]}`)
const CHARS = 26
const MAX = (1n << 128n) - 1n

type Kind = Extract<IdKind, 'webhookEvent' | 'webhookDelivery'>

/** The id that callers see, from a uuid as Postgres writes it. */
export function toShownId(kind: Kind, uuid: string): string {
  const hex = uuid.replaceAll('-', '')
  // 128 bits are 8, which make two characters, and six times 20, which make four each.
  let text = pairs[Number.parseInt(hex.slice(0, 2), 16)] ?? ''
  for (let at = 2; at < hex.length; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16)
    text += `${pairs[bits >> 10]}${pairs[bits & 1_023]}`
  }
  return `${idPrefixes[kind]}_${text}`
}

/** The uuid of an id that a caller gave; null: it is none. */
export function toUuid(kind: Kind, id: string): string | null {
  if (!isId(kind, id)) return null
  let value = 0n
  for (const char of id.slice(-CHARS)) value = (value << 5n) | BigInt(DIGITS.indexOf(char))
  if (value > MAX) return null
  const hex = value.toString(16).padStart(32, '0')
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join('-')
}
