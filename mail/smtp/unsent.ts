// Checks that need no server: parameters of MAIL, and messages that are refused before anything is sent.
import type { Envelope, Message, Outcome } from '../transport.ts'
import { hasLoneDot } from './dots.ts'
import type { Capabilities } from './handshake.ts'
import { rejection } from './outcomes.ts'

/** A message of a session. */
export interface Mail {
  envelope: Envelope
  message: Message
}

/**
 * From larger mail a bounce is to bring back the header alone (RFC 3461 section 4.3): with all of it, written anew and beside its report, the
 * bounce could be larger than our listener takes (`MESSAGE_BYTES_MAX` of inbound/reports/listener.ts). Of other mail nothing is asked, so that a
 * server that offers DSN and refuses its parameters takes most mail all the same.
 */
export const RETURNED_BYTES_MAX = 512 * 1024

/** The parameters after the return path in MAIL. */
export function mailParameters(envelope: Envelope, capabilities: Capabilities): string {
  const size = capabilities.has('SIZE') ? ` SIZE=${envelope.bytes}` : ''
  const returned = capabilities.has('DSN') && envelope.bytes > RETURNED_BYTES_MAX ? ' RET=HDRS' : ''
  const body = envelope.octets === undefined ? '' : ' BODY=8BITMIME'
  return `${size}${returned}${body}${needsUtf8(envelope) ? ' SMTPUTF8' : ''}`
}

const needsUtf8 = ({ from, to, octets }: Envelope) =>
  octets === 'utf8_header' || !isAscii(from + to)

const isAscii = (text: string) => !/[^\p{ASCII}]/u.test(text)

/**
 * Characters that would end an address or a line, and half surrogate pairs, which would be sent as another
 * character.
 */
const notInAddress = /[\s<>\p{Cc}\p{Cs}]/u

/** Said here and by no server, so it says nothing about one. */
export const NO_RETURN_PATH = 'the return path is not an address'

/**
 * The refusal of a message that no server would accept, in the form of a server's reply; null if it may be sent.
 */
export function refusedUnsent(
  { envelope, message }: Mail,
  capabilities: Capabilities,
): Outcome | null {
  const { from, to, bytes, octets } = envelope
  if (notInAddress.test(from)) {
    return { kind: 'failed', phase: 'mail', error: NO_RETURN_PATH }
  }
  if (to === '' || notInAddress.test(to)) {
    return rejection('rcpt', '553 5.1.3 the recipient is not an address')
  }
  if (!isAscii(from + to) && !capabilities.has('SMTPUTF8')) {
    return rejection('mail', '553 5.6.7 the server takes no addresses outside ASCII (SMTPUTF8)')
  }
  if (octets === 'utf8_header' && !capabilities.has('SMTPUTF8')) {
    return rejection('mail', '554 5.6.7 the server takes no headers outside ASCII (SMTPUTF8)')
  }
  if (octets !== undefined && !capabilities.has('8BITMIME')) {
    return rejection('mail', '554 5.6.3 the server takes no mail with 8-bit characters (8BITMIME)')
  }
  const sizeMax = Number(capabilities.get('SIZE') ?? 0)
  if (sizeMax > 0 && bytes > sizeMax) {
    return rejection('mail', '552 5.3.4 the message is larger than the server takes')
  }
  if (Buffer.isBuffer(message) ? hasLoneDot(message) : message.hasLoneDot) {
    return rejection('mail', '554 5.6.0 the message has a dot after half a line end')
  }
  return null
}
