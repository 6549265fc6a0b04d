// Names of automation events: their form, and the ones that the service keeps for itself.
import { limits } from './limits.ts'

const reservedEventPrefixes = [
  'email.',
  'contact.',
  'audience.',
  'workflow.',
  'execution.',
] as const

/** True for 1-128 letters, digits and `. _ - : /`. */
export function isEventName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    name.length <= limits.eventNameCharsMax &&
    /^[A-Za-z0-9._:/-]+$/.test(name)
  )
}

/** True for names that only the service emits (`email.opened`); a design may listen to them, nobody may post them. */
export function isReservedEventName(name: string): boolean {
  return reservedEventPrefixes.some((prefix) => name.startsWith(prefix))
}
