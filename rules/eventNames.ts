// Names of automation events: their form, and the reserved ones.
import { limits } from './limits.ts'
import { shown } from './shown.ts'

export const reservedEventPrefixes = [
  'email.',
  'contact.',
  'audience.',
  'workflow.',
  'execution.',
] as const

/** What happens to a contact without being posted: the names by which triggers of it are found. */
export const happenings = {
  contactCreated: 'contact.created',
  propertyChanged: 'contact.property_changed',
  /** These two are events of the contact, too. */
  audienceJoined: 'audience.joined',
  audienceLeft: 'audience.left',
  /** These are recorded for members of segments that an active workflow begins at. */
  segmentEntered: 'contact.segment_entered',
  segmentLeft: 'contact.segment_left',
} as const

/** What an event name is made of, for messages. */
export const eventNameForm = `1-${limits.eventNameCharsMax} letters, digits or . _ - : /, such as order.placed`

/** True for 1-128 letters, digits and `. _ - : /`. */
export function isEventName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    name.length <= limits.eventNameCharsMax &&
    /^[A-Za-z0-9._:/-]+$/.test(name)
  )
}

/** What an event name must be, and what came in its place. */
export function eventNameFault(name: unknown): string {
  if (typeof name === 'string' && name.length > limits.eventNameCharsMax) {
    return `must not exceed ${limits.eventNameCharsMax} characters, has ${name.length}`
  }
  return `must be ${eventNameForm}, not ${shown(name)}`
}

/**
 * True for names that only the service records (`email.opened`). A design may use them, but the API refuses to
 * post them.
 */
export function isReservedEventName(name: string): boolean {
  return reservedEventPrefixes.some((prefix) => name.startsWith(prefix))
}
