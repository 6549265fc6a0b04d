// The answers of the bounce rules in one line, for tables of expectations.
import type { Bounce } from '../../../rules/mail/bounceRules.ts'

/** `Permanent/NoEmail final recipient`, `Transient/General again ours sender` */
export function answersOf(bounce: Bounce): string {
  const fault = bounce.fault === 'ours' ? `ours ${bounce.speaksOf}` : bounce.fault
  return `${bounce.type}/${bounce.subtype} ${bounce.final ? 'final' : 'again'} ${fault}`
}
