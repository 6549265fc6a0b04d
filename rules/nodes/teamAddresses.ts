// The fields `to` and `cc` of a mail: addresses of the team, on the workspace's own domains.
import { z } from 'zod'
import { parseMailbox } from '../addresses.ts'
import { addressAdvice } from '../asciiDomains.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkSenderDomain, isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import type { Json } from '../json.ts'
import { limits } from '../limits.ts'
import { shown } from '../shown.ts'
import { mailbox } from './fields.ts'

const { teamAddressesMax } = limits

export const teamAddresses = z.union([mailbox, z.array(mailbox).min(1).max(teamAddressesMax)])
export type TeamAddresses = z.infer<typeof teamAddresses>

/** The addresses as a list; empty where there are none. */
export function listAddresses(given: TeamAddresses | undefined): string[] {
  if (given === undefined) return []
  return typeof given === 'string' ? [given] : given
}

interface Addressed {
  to?: TeamAddresses
  category?: 'marketing' | 'transactional'
}

/** Whether a mail goes to the team instead of the contact. */
export const isToTeam = ({ to }: Addressed): boolean => to !== undefined

/** The category under which a mail goes out: what is for the team is never marketing. */
export const categoryOf = (mail: Addressed): 'marketing' | 'transactional' =>
  isToTeam(mail) ? 'transactional' : (mail.category ?? 'marketing')

/** Every problem of the key, each at its entry; none when it is absent. */
export function checkTeamAddresses(at: CheckAt, key: 'to' | 'cc'): Problem[] {
  const given = at.data[key]
  if (!isGiven(given)) return []
  if (!Array.isArray(given)) return checkAddress(at, key, given)
  if (given.length === 0 || given.length > teamAddressesMax) {
    const message = `${key} must be one address, or a list of 1 to ${teamAddressesMax}, has ${given.length}`
    return problemAt(at, key, 'bad_value', message)
  }
  return given.flatMap((one, place) => checkAddress(at, `${key}.${place}`, one))
}

/** An address as it is written: its local part could be Liquid, which would send to whom a contact's properties say. */
function checkAddress(at: CheckAt, key: string, value: Json): Problem[] {
  const isLiteral = typeof value === 'string' && !/[{}]/.test(value)
  if (isLiteral && parseMailbox(value)) return checkSenderDomain(at, key, value)
  const message = `${key} must be one address such as hello@acme.com, or Acme <hello@acme.com>, without Liquid${addressAdvice(value)}, not ${shown(value)}`
  return problemAt(at, key, 'bad_address', message)
}
