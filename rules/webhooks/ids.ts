// Ids of webhook events and deliveries: a uuid in Postgres, a prefix and 26 Crockford characters outside. Both begin with the time.
import { type IdKind, idPrefixes, isId } from '../ids.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** By their digit in the base 32 of JavaScript. */
const digitOf = new Map(Array.from(DIGITS, (digit, n) => [n.toString(32), digit]))
const CHARS = 26
const MAX = (1n << 128n) - 1n

type Kind = Extract<IdKind, 'webhookEvent' | 'webhookDelivery'>

/** The id that callers see, from a uuid as Postgres writes it. */
export function toShownId(kind: Kind, uuid: string): string {
  const value = BigInt(`0x${uuid.replaceAll('-', '')}`).toString(32)
  let text = ''
  for (const digit of value) text += digitOf.get(digit)
  return `${idPrefixes[kind]}_${text.padStart(CHARS, '0')}`
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
