// Activities of the hand-written reference: each renders one email and writes the same rows as a segment.

import type { ActivityDeps } from '../activities/deps.ts'
import { writeEmail } from '../commands/emails/write.ts'
import { transact } from '../commands/transact.ts'
import { failureText, renderEmail } from '../mail/content/template.ts'
import { newOpaqueToken } from '../mail/tracking/tokens.ts'
import { mailsOf, nodesOf, type Scenario } from './automationScenarios.ts'
import { SENDER } from './payloads.ts'

const DAY_MS = 86_400_000
const DOMAIN = 'sender.test'

type Deps = Pick<ActivityDeps, 'db' | 'now' | 'newId' | 'wake' | 'config' | 'addressMac'>

/** Makes the activities. `domainId` is known beforehand, as in a program for a single sender. */
export function createPlainActivities(deps: Deps, scenario: Scenario, domainId: string) {
  const mails = mailsOf(scenario)
  return {
    /** Sends the email at that position, and writes the steps with it. */
    async sendMail(executionId: string, position: number): Promise<void> {
      const mail = mails[position]
      if (!mail) throw new Error(`no mail ${position}`)
      const isLast = position === mails.length - 1
      await sendMail(deps, domainId, executionId, {
        ...mail,
        steps: stepsOf(scenario, position),
        isLast,
      })
    },
  }
}

export type PlainActivities = ReturnType<typeof createPlainActivities>

async function sendMail(
  { db, now, newId, wake, config, addressMac }: Deps,
  domainId: string,
  executionId: string,
  {
    steps,
    isLast,
    ...mail
  }: {
    id: string
    subject: string
    html: string
    steps: { seq: number; node_id: string; type: string }[]
    isLast: boolean
  },
): Promise<void> {
  const found = await db
    .selectFrom('executions as e')
    .innerJoin('contacts as c', 'c.id', 'e.contact_id')
    .leftJoin('automation_events as a', 'a.id', 'e.trigger_event_id')
    .select(['e.workspace_id', 'e.workflow_id', 'e.version', 'e.email'])
    .select(['c.properties as contact_properties', 'a.properties as event_properties'])
    .where('e.id', '=', executionId)
    .executeTakeFirstOrThrow()
  const at = now()
  const properties = found.contact_properties
  const unsubscribeToken = newOpaqueToken()
  const rendered = renderEmail({ ...mail, text: null }, {
    contact: {
      email: found.email,
      first_name: properties['first_name'] ?? null,
      last_name: properties['last_name'] ?? null,
      properties,
    },
    properties,
    event: found.event_properties ?? {},
    workflow: { id: found.workflow_id, version: found.version },
    unsubscribe_url: `${config.publicUrl}/u/${unsubscribeToken}`,
  } as Parameters<typeof renderEmail>[1])
  if (!rendered.ok) throw new Error(failureText(rendered))
  const { subject, html, text } = rendered
  const row = {
    id: newId('email'),
    type: 'transactional' as const,
    category: 'marketing' as const,
    from: SENDER,
    to: [found.email],
    cc: [],
    bcc: [],
    reply_to: [],
    subject,
    html,
    text,
    template_id: null,
    domain_id: domainId,
    headers: {},
    tags: {},
    metadata: {},
    message_id: `${newOpaqueToken()}@${DOMAIN}`,
    workflow_id: found.workflow_id,
    execution_id: executionId,
    node_id: mail.id,
    unsubscribe_token: unsubscribeToken,
    track_opens: false,
    track_clicks: false,
    tracking_host: null,
    scheduled_at: null,
    created_at: at,
  }
  await transact({ db, newId, now: () => at, wake, addressMac }, async (inTrx) => {
    const { db: trx } = inTrx
    const email = {
      row,
      recipients: [found.email],
      team: [],
      simulated: [],
      attachments: [],
      dueAt: at,
      expiresAt: new Date(at.getTime() + DAY_MS),
    }
    await writeEmail(inTrx, found.workspace_id, email, [{ email: found.email }])
    await trx
      .insertInto('execution_steps')
      .values(
        steps.map(({ seq, node_id, type }) => ({
          execution_id: executionId,
          seq,
          segment: 0,
          node_id,
          type,
          handle: type === 'exit' ? null : 'default',
          why: null,
          at,
        })),
      )
      .execute()
    const last = steps.at(-1)
    if (!isLast || !last) return
    await trx
      .updateTable('executions')
      .set({
        ended_status: 'COMPLETED',
        current_step_id: last.node_id,
        step_count: last.seq,
        updated_at: at,
        completed_at: at,
      })
      .where('id', '=', executionId)
      .execute()
  })
  wake('dripline_deliveries')
}

/** The steps since the email before: with the first also the trigger, with the last also the exit. */
function stepsOf(scenario: Scenario, position: number) {
  const all = nodesOf(scenario).map(({ id, type }, i) => ({ node_id: id, type, seq: i + 1 }))
  const ends = all.flatMap(({ type, seq }) => (type === 'send_email' ? [seq] : []))
  const isLast = position === ends.length - 1
  return all.slice(position === 0 ? 0 : ends[position - 1], isLast ? undefined : ends[position])
}
