// Writes an email to the contact; its delivery goes on by itself.
import { z } from 'zod'
import { evaluate } from '../conditions/evaluate.ts'
import { anyObject, conditionSchema } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import {
  checkConditions,
  checkLiquid,
  checkMailbox,
  checkObject,
  checkOneOf,
  checkSender,
  checkSenderDomain,
  checkText,
  type HeldCondition,
  isGiven,
} from '../design/fieldChecks.ts'
import { capEnds } from '../design/frequencyCap.ts'
import type { Problem } from '../design/problem.ts'
import type { MailContent } from '../interpreterTypes.ts'
import type { JsonObject } from '../json.ts'
import { shownText } from '../shown.ts'
import { defineNode, type Move, never, type Place } from './define.ts'
import { mailbox } from './fields.ts'
import { completed, failStep, skip } from './moves.ts'
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

/** A published template, or a subject with html or text; a subject beside a template stands in for the template's. */
function checkContent(at: CheckAt): Problem[] {
  const { template_id, subject, html, text } = at.data
  const problems = ['subject', 'html', 'text', 'preview_text'].flatMap((key) =>
    checkLiquid(at, key),
  )
  if (isGiven(template_id)) return [...problems, ...checkTemplate(at)]
  if (!isGiven(subject)) {
    problems.push(
      ...problemAt(at, 'subject', 'subject_missing', 'subject is required without a template_id'),
    )
  }
  if (!isGiven(html) && !isGiven(text)) {
    const message = 'html or text is required without a template_id'
    problems.push(...problemAt(at, 'html', 'content_missing', message))
  }
  return problems
}

function checkTemplate(at: CheckAt): Problem[] {
  const { template_id, subject, html, text } = at.data
  if (typeof template_id !== 'string') return checkText(at, 'template_id')
  const problems: Problem[] = []
  if (isGiven(html) || isGiven(text)) {
    const message = 'template_id cannot be used together with html or text'
    problems.push(...problemAt(at, 'template_id', 'template_with_content', message))
  }
  const template = at.context.templates.get(template_id)
  if (!template) {
    const message = `template_id: this workspace has no template '${shownText(template_id)}'`
    return [...problems, ...problemAt(at, 'template_id', 'unknown_template', message)]
  }
  if (template.status !== 'published') {
    const message = `template_id: the template '${shownText(template_id)}' is a draft; publish it first`
    return [...problems, ...problemAt(at, 'template_id', 'template_not_published', message)]
  }
  if (!template.hasSubject && !isGiven(subject)) {
    const message = `subject is required: the template '${shownText(template_id)}' has none`
    problems.push(...problemAt(at, 'subject', 'subject_missing', message))
  }
  return problems
}

/** The node's own sender, else the template's, else the design's default, which is checked with the settings. */
function checkFrom(at: CheckAt): Problem[] {
  if (isGiven(at.data['from'])) return checkSender(at, 'from')
  const id = at.data['template_id']
  const template = typeof id === 'string' ? at.context.templates.get(id) : undefined
  if (template?.from) return checkSenderDomain(at, 'template_id', template.from)
  if (isGiven(at.settings['default_from'])) return []
  return problemAt(
    at,
    'from',
    'from_missing',
    'from is required where neither the template nor settings.default_from names a sender',
  )
}

function enter(data: SendEmailData, place: Place): Move {
  const { guard, on_suppressed, ...mail } = withoutBlanks(data)
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

const isMarketing = ({ category = 'marketing' }: MailContent): boolean => category === 'marketing'

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

/** An empty text counts as missing, as validation counted it: then the template's or the default stands. */
function withoutBlanks(data: SendEmailData): SendEmailData {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => isGiven(value)))
}

/** Conditions and caps further on in this segment see that the mail was sent. */
function withSent({ nodeId, facts }: Place, mail: MailContent): Place['facts'] {
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
    ...checkMailbox(at, 'reply_to'),
    ...checkUtm(at),
    ...checkObject(at, 'variables'),
    ...checkOneOf(at, 'category', categories),
    ...checkOneOf(at, 'on_suppressed', afterSuppressed),
    ...checkConditions(at, conditions(at.data)),
  ],
  conditions,
  names: ({ template_id, from }) => ({ templateIds: [template_id], fromAddresses: [from] }),
  enter,
})
