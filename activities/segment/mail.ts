// The emails of a segment: loads templates and domains beforehand, then renders each email that the segment sends.

import { newEmail } from '../../commands/emails/newEmail.ts'
import type { Trx } from '../../db/connect.ts'
import { listSendingDomains } from '../../db/domains/sending.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { countRecentMails } from '../../db/executions/facts.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { listPublishedTemplates } from '../../db/templates/published.ts'
import { failureText, type TemplateParts } from '../../mail/content/template.ts'
import { senderDomain } from '../../rules/addresses.ts'
import { mailReferences } from '../../rules/design/references.ts'
import type { Design } from '../../rules/design/types.ts'
import type {
  MailContent,
  SegmentFacts,
  SegmentTools,
  SendOutcome,
  TextForm,
} from '../../rules/interpreterTypes.ts'
import { toStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { areTestAddresses } from '../../rules/mail/testAddresses.ts'
import { categoryOf, isToTeam } from '../../rules/nodes/teamAddresses.ts'
import type { Reach } from '../../rules/reach.ts'
import { secretNamesIn } from '../../rules/secretNames.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { addressMail } from './addressed.ts'
import { loadSecrets } from './calls.ts'
import { renderMail, scopeOf } from './mailContent.ts'
import type { SegmentTexts } from './texts.ts'

type Sources = Awaited<ReturnType<typeof loadSources>>

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Loads the templates and domains that the design's emails need, and the secrets that its requests read. It runs before the
 * transaction, which is shorter that way.
 * @param reach of who wrote the version
 */
export async function loadSources(
  deps: Pick<ActivityDeps, 'db' | 'secrets'>,
  reach: Reach,
  design: Design,
) {
  const { db } = deps
  const { workspaceId } = reach
  const { templateIds, fromAddresses, teamAddresses } = mailReferences(design)
  const templates = await listPublishedTemplates(db, workspaceId, templateIds)
  const ofTemplates = [...templates.values()].flatMap(({ from }) => from ?? [])
  const addresses = [...fromAddresses, ...teamAddresses, ...ofTemplates]
  const domainNames = addresses.flatMap((address) => senderDomain(address) ?? [])
  const domains = await listSendingDomains(db, workspaceId, [...new Set(domainNames)])
  return { templates, domains, secrets: await loadSecrets(deps, reach, design) }
}

/**
 * How many mails an execution has sent within a day, as far as that may keep it from another one: only one that has come through
 * many nodes can have sent so many, and others are not asked.
 */
export async function countSent(
  trx: Trx,
  execution: SegmentRow<SegmentResult>,
  design: Design,
  now: Date,
): Promise<number> {
  const most = limits.executionMailsPerDayMax
  const stepsBefore = execution.previous?.step_count ?? 0
  if (stepsBefore + design.nodes.length <= most) return 0
  const since = new Date(now.getTime() - DAY_MS)
  return countRecentMails(trx, execution.workspace_id, { executionId: execution.id, since, most })
}

export interface SegmentMailContext {
  execution: SegmentRow
  design: Design
  sources: Sources
  state: { unsubscribed: boolean; suppressed: boolean }
  /** Mails that the execution has sent within a day. */
  sent: number
  now: Date
  texts: SegmentTexts
}

/**
 * Makes the `sendEmail` function of the interpreter. `planned` collects its emails, which the segment's
 * transaction writes.
 */
export function createSegmentMail(
  deps: Pick<ActivityDeps, 'newId' | 'config'>,
  context: SegmentMailContext,
) {
  const planned: NewEmail[] = []

  const refusesMail = (mail: MailContent) => {
    if (isToTeam(mail)) return null
    if (context.state.unsubscribed && categoryOf(mail) === 'marketing')
      return { kind: 'skipped', why: 'unsubscribed' } as const
    return context.state.suppressed ? ({ kind: 'suppressed' } as const) : null
  }

  const sendEmail = (nodeId: string, data: MailContent, facts: SegmentFacts): SendOutcome => {
    const refused = refusesMail(data)
    if (refused) return refused
    if (context.sent + planned.length >= limits.executionMailsPerDayMax) {
      return { kind: 'failed', why: 'too_many_mails' }
    }
    const email = composeEmail(deps, context, nodeId, data, facts)
    if (typeof email === 'string') return { kind: 'failed', why: email }
    if (email) planned.push(email)
    return { kind: 'sent' }
  }

  const renderText: SegmentTools['renderText'] = (_nodeId, source, facts, form = 'line') => {
    const scope = scopeOf(context.execution, facts, {})
    const isOfRequest = form !== 'line'
    const text = context.texts.take(
      partsOf(source, form),
      isOfRequest ? { ...scope, secrets: Object.fromEntries(context.sources.secrets) } : scope,
    )
    // Rendered first: what this walk does is taken back.
    if (!text) return { ok: true, text: '' }
    const { rendered } = text
    // Liquid quotes what it cannot read, and a secret is shown to nobody.
    const isSecret = isOfRequest && /\bsecrets\b/.test(source)
    if (!rendered.ok) {
      const fault = isSecret ? 'a text with a secret does not render' : failureText(rendered)
      return { ok: false, why: `template: ${fault}` }
    }
    const unknown = isSecret ? rendered.missing.find((name) => name.startsWith('secrets.')) : null
    // Of a name that the text has made, too: it may be the value of a secret.
    const isWritten = secretNamesIn(source).includes(unknown?.slice('secrets.'.length) ?? '')
    if (unknown) return { ok: false, why: `there is no ${isWritten ? unknown : 'such secret'}` }
    return { ok: true, text: toStorableText(rendered.text ?? rendered.subject) }
  }

  return { refusesMail, sendEmail, renderText, planned }
}

/** A text by the rules of the part of an email that is most like it. */
function partsOf(source: string, form: TextForm): TemplateParts {
  if (form === 'line' || form === 'request_line') return { subject: source, html: null, text: null }
  const isUrl = form === 'request_url'
  return { subject: '', html: null, text: source, ...(isUrl ? { text_mode: 'url' as const } : {}) }
}

/** Returns the email to write, or a text that says why there is none; null when it has to be rendered first. */
function composeEmail(
  deps: Pick<ActivityDeps, 'newId' | 'config'>,
  context: SegmentMailContext,
  nodeId: string,
  data: MailContent,
  facts: SegmentFacts,
): NewEmail | string | null {
  const { execution, design, sources, now } = context
  const template = data.template_id === undefined ? null : sources.templates.get(data.template_id)
  if (template === undefined) return `template ${data.template_id} is not published`
  const from = data.from || template?.from || design.settings?.default_from
  if (!from) return 'no from address: the node, its template and default_from name none'
  const { allowUnverifiedDomains, simulatorDomain } = deps.config
  const addressed = addressMail(data, facts.contact.email, (key, address) => {
    const found = findDomain(sources, key, address, allowUnverifiedDomains)
    return typeof found === 'string' ? found : null
  })
  if (typeof addressed === 'string') return addressed
  const mayBeUnverified =
    allowUnverifiedDomains || areTestAddresses(addressed.recipients, simulatorDomain)
  const domain = findDomain(sources, 'from', from, mayBeUnverified)
  if (typeof domain === 'string') return domain
  const made = renderMail(deps, context, { data, template, facts, domain })
  if (typeof made === 'string' || made === null) return made
  const replyTo = data.reply_to ?? template?.reply_to
  return newEmail(
    { ...deps, now: () => now },
    {
      ...addressed,
      category: categoryOf(data),
      from,
      replyTo: replyTo ? [replyTo] : [],
      content: made.content,
      templateId: template?.id ?? null,
      domain,
      domainName: domain.name,
      sentBy: { workflowId: execution.workflow_id, executionId: execution.id, nodeId },
      unsubscribeToken: made.unsubscribeToken,
    },
  )
}

/** The domain of an address in a field of a mail, or a text that says why it cannot be used. */
function findDomain({ domains }: Sources, key: string, address: string, mayBeUnverified: boolean) {
  const name = senderDomain(address)
  const domain = name === null ? undefined : domains.get(name)
  if (!domain) return `no domain of this workspace for the ${key} address`
  return domain.verified || mayBeUnverified ? domain : `domain ${name} is not verified`
}
