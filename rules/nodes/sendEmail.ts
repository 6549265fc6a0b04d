// Writes an email to the contact; its delivery goes on by itself.
import { z } from 'zod'
import { evaluate } from '../conditions/evaluate.ts'
import { anyObject, conditionSchema } from '../conditions/schema.ts'
import {
  checkConditions,
  checkMailbox,
  checkObject,
  checkOneOf,
  type HeldCondition,
} from '../design/fieldChecks.ts'
import { capEnds } from '../design/frequencyCap.ts'
import type { MailContent } from '../interpreterTypes.ts'
import type { JsonObject } from '../json.ts'
import { withEvent } from '../ownEvents.ts'
import { defineNode, type Move, never, type Place } from './define.ts'
import { mailbox } from './fields.ts'
import { checkContent, checkFrom } from './mailChecks.ts'
import { completed, failStep, skip } from './moves.ts'
import { categoryOf, checkTeamAddresses, isToTeam, teamAddresses } from './teamAddresses.ts'
import { checkUtm, utm } from './utm.ts'

const categories = ['marketing', 'transactional'] as const
const afterSuppressed = ['skip', 'exit', 'fail'] as const

const liquid = z.string()

const data = z
  .object({
    template_id: z
      .string()
      .describe('Id or alias of a published template; not together with `html` or `text`')
      .exactOptional(),
    subject: liquid
      .describe("Liquid. Required without a template; with one, it replaces the template's subject")
      .exactOptional(),
    html: liquid
      .describe('Liquid: the HTML of the mail. Without a template, `html` or `text` is required')
      .exactOptional(),
    text: liquid
      .describe('Liquid: the plain text. Without it, the text is made from the HTML')
      .exactOptional(),
    from: mailbox
      .describe(
        "The sender, on a verified domain. Absent: the template's sender, else `settings.default_from`; one is required",
      )
      .exactOptional(),
    to: teamAddresses
      .describe(
        'Addresses of your team, on verified domains: the mail goes to them and not to the contact. It is `transactional`, whatever ' +
          '`category` says, and nothing that the contact left holds it back. No Liquid',
      )
      .exactOptional(),
    cc: teamAddresses
      .describe(
        'Addresses of your team, on verified domains, that get a copy. Its links to unsubscribe work for nobody. No Liquid',
      )
      .exactOptional(),
    reply_to: mailbox
      .describe(
        "Where answers go, as `Ada <ada@acme.com>`. Absent: the template's, else the sender",
      )
      .exactOptional(),
    preview_text: liquid
      .describe(
        'Liquid: what mail programs show after the subject, hidden at the beginning of the HTML. With a template, it replaces ' +
          "the template's",
      )
      .exactOptional(),
    utm: utm.exactOptional(),
    variables: anyObject
      .describe('Values that Liquid reads as `vars.*`, and by their bare names')
      .exactOptional(),
    category: z
      .enum(categories)
      .describe(
        '`marketing` carries the headers by which mail programs offer to unsubscribe; `transactional` does not. When a ' +
          'connection breaks and nobody knows whether the mail arrived, only `transactional` is sent once more',
      )
      .meta({ default: 'marketing' })
      .exactOptional(),
    guard: conditionSchema
      .describe('When it does not hold, the mail is not sent and `skipped` is taken')
      .exactOptional(),
    on_suppressed: z
      .enum(afterSuppressed)
      .describe(
        'When the address is on the suppression list: `skip` goes on by `skipped`, `exit` ends the execution COMPLETED ' +
          'with outcome `suppressed`, `fail` fails the step',
      )
      .meta({ default: 'skip' })
      .exactOptional(),
  })
  .describe('Either a template, or a subject with html or text')
export type SendEmailData = z.infer<typeof data>

const conditions = ({ guard }: JsonObject): HeldCondition[] => [
  { key: 'guard', value: guard, scope: 'node', isRequired: false },
]

function enter({ guard, on_suppressed, ...mail }: SendEmailData, place: Place): Move {
  if (guard && !evaluate(guard, place.facts)) return skip('guard', place)
  const capped = hitsCap(mail, place)
  if (capped) return capped
  const sent = place.tools.sendEmail(place.nodeId, mail, place.facts)
  switch (sent.kind) {
    case 'sent':
      return { handle: 'default', why: null, facts: withSent(place, mail) }
    case 'skipped':
      return skip(sent.why, place)
    case 'failed':
      return failStep(sent.why, place)
    case 'suppressed':
      if (on_suppressed === 'exit') return { end: completed(sent.kind), why: sent.kind }
      return on_suppressed === 'fail' ? failStep(sent.kind, place) : skip(sent.kind, place)
    default:
      return sent satisfies never
  }
}

const isMarketing = (mail: MailContent): boolean => categoryOf(mail) === 'marketing'

/** What becomes of a mail that the contact would get too soon; null: it is not too soon, or they get it at no time. */
function hitsCap(mail: MailContent, place: Place): Move | null {
  const { settings, facts, tools } = place
  const { frequency_cap: cap } = settings
  if (!cap || !isMarketing(mail) || tools.refusesMail?.(mail)) return null
  const until = capEnds(cap, facts.marketingSent ?? [], facts.now)
  if (until === null) return null
  if (cap.on_hit !== 'wait') return skip('frequency_cap', place)
  return { wait: { for: 'nothing', until, again: true }, why: 'frequency_cap' }
}

/** Conditions, goals and caps further on in this segment see that the contact was sent a mail. */
function withSent({ nodeId, facts: before }: Place, mail: MailContent): Place['facts'] {
  if (isToTeam(mail)) return before
  const facts = withEvent(before, 'email.sent')
  const { emailActivity, marketingSent = [], now } = facts
  const statuses = Object.hasOwn(emailActivity, nodeId) ? (emailActivity[nodeId] ?? []) : []
  return {
    ...facts,
    emailActivity: { ...emailActivity, [nodeId]: [...statuses, 'sent'] },
    ...(isMarketing(mail) ? { marketingSent: [...marketingSent, now] } : {}),
  }
}

export const sendEmail = defineNode({
  type: 'send_email',
  summary: 'Writes an email to the contact; its delivery goes on by itself.',
  data,
  records: 'email_activity',
  handles: () => ({ required: ['default'], optional: ['skipped', 'failed'] }),
  handleTexts: {
    default: 'The email was written; its delivery goes on by itself',
    skipped:
      'The email was not sent: `guard` does not hold, the address is suppressed, or it is marketing mail and the ' +
      'contact has left the workflow or gets too much of it (`frequency_cap`). When no edge leaves by it, `default` is taken',
    failed:
      'The email could not be written, for example because its template does not render. When no edge leaves by ' +
      'it, `settings.on_step_failure` decides',
  },
  waits: never,
  check: (at) => [
    ...checkContent(at),
    ...checkFrom(at),
    ...checkTeamAddresses(at, 'to'),
    ...checkTeamAddresses(at, 'cc'),
    ...checkMailbox(at, 'reply_to'),
    ...checkUtm(at),
    ...checkObject(at, 'variables'),
    ...checkOneOf(at, 'category', categories),
    ...checkOneOf(at, 'on_suppressed', afterSuppressed),
    ...checkConditions(at, conditions(at.data)),
  ],
  conditions,
  names: ({ template_id, from, to, cc }) => ({
    templateIds: [template_id],
    fromAddresses: [from],
    teamAddresses: [to, cc].flat(),
  }),
  enter,
})
