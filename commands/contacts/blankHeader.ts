// Takes an address out of the header of a message that goes to others yet.

import type { ErasedAddress } from '../../db/contacts/blank.ts'
import {
  addressPart,
  joinedParts,
  type ListPart,
  listParts,
  trimmedEnd,
  withoutComments,
} from '../../rules/mail/addressList.ts'
import { ADDRESS_FIELDS, UNDISCLOSED_RECIPIENTS } from '../../rules/mail/headers.ts'
import { fillerField, lengthened } from '../../rules/mail/sameLength.ts'
import { type WrittenAddress, writtenAddress } from './writtenAddress.ts'

const HEADER_END = Buffer.from('\r\n\r\n')
/** A header with more gets no field that fills, so that it stays readable (`storedHeader` in mail/carried/header.ts). */
const FIELDS_MAX = 900

/**
 * The start of a message whose recipients, and whose addresses for answers, name the address no more: its entries are gone, and so is what others
 * are called where that holds it. What they leave is filled, so that the message keeps its length. Longer addresses that hold it stay, and
 * so do all other fields, and Reply-To where the address is the customer's or the sender's. @returns null if they do not name it
 */
export function blankHeader(start: Buffer, { email, isCustomers }: ErasedAddress): Buffer | null {
  const end = start.indexOf(HEADER_END)
  const header = start.subarray(0, end === -1 ? start.length : end).toString('latin1')
  const fields = fieldsIn(header)
  const written = writtenAddress(email)
  const isOwn = isCustomers || fields.some((field) => isSentBy(field, written))
  let count = fields.length
  const blanked = fields.map((field) => {
    if (isOwn && /^reply-to[ \t]*:/i.test(field)) return field
    const without = blankField(field, written, count < FIELDS_MAX)
    count += fieldsIn(without).length - 1
    return without
  })
  const without = blanked.join('\r\n')
  if (without === header) return null
  return Buffer.concat([Buffer.from(without, 'latin1'), start.subarray(header.length)])
}

const FROM = /^from[ \t]*:/i

/** Whether a field is From and has the address: who sends is the customer's own. */
const isSentBy = (field: string, written: WrittenAddress): boolean =>
  FROM.test(field) &&
  listParts(field.slice(field.indexOf(':') + 1))?.some(({ text }) => written.isThis(text)) === true

const fieldsIn = (header: string) => header.split(/\r\n(?![ \t])/)

function blankField(field: string, written: WrittenAddress, mayAdd: boolean): string {
  const colon = field.indexOf(':') + 1
  const name = field.slice(0, colon)
  const isFrom = FROM.test(name)
  if (!isFrom && !ADDRESS_FIELDS.test(name.slice(0, -1).trim())) return field
  const parts = listParts(field.slice(colon))
  if (isFrom && (!parts || isSentBy(field, written))) return field
  const kept = parts && keptParts(parts, written)
  if (!kept) return dashed(field, written)
  const isEmpty = kept.length === 0
  // A message without From is none.
  if (isEmpty && isFrom) return field
  if (isEmpty && !/^to\b/i.test(name)) return fillerField(field.length)
  const list = isEmpty ? ` ${UNDISCLOSED_RECIPIENTS}` : joinedParts(kept)
  const shorter = lengthened(name + list, field.length, mayAdd)
  if (shorter !== null) return dashed(shorter, written)
  return isEmpty ? fillerField(field.length) : dashed(field, written)
}

/** What stays of a list; null: all of it. */
function keptParts(parts: readonly ListPart[], written: WrittenAddress): ListPart[] | null {
  const kept = parts.flatMap((part): ListPart[] => {
    if (!part.members) return keptEntry(part.text, written).map((text) => ({ text, members: null }))
    const text = written.isIn(part.text) ? `${spacesBefore(part.text)}group` : part.text
    return [{ text, members: part.members.flatMap((one) => keptEntry(one, written)) }]
  })
  const isAll = joinedParts(kept) === joinedParts(parts)
  return isAll ? null : kept
}

/** What stays of an entry: nothing if it is their address; without its comments if one of these holds it; the address alone if the name before it does. */
function keptEntry(entry: string, written: WrittenAddress): string[] {
  if (written.isThis(entry)) return []
  if (!written.isIn(entry)) return [entry]
  const before = spacesBefore(entry)
  const bare = withoutComments(entry.slice(before.length))
  if (!written.isIn(bare)) return [before + trimmedEnd(bare.replace(/^[ \t\r\n]+/, ''))]
  const address = addressPart(entry)
  return written.isIn(address) ? [] : [before + address]
}

const spacesBefore = (text: string): string => /^[ \t\r\n]*/.exec(text)?.[0] ?? ''

/**
 * Puts dashes in the place of the address wherever it is left. A label of the DNS neither begins nor ends with one (RFC 1123 section 2.1, RFC 952),
 * so it is nobody's address.
 */
const dashed = (field: string, { pattern }: WrittenAddress): string =>
  field.replace(pattern, (address) => address.replace(/[^@."]/g, '-'))
