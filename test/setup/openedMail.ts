// A contact who opens a mail that an execution has sent them.
import { openToken } from '../../mail/tracking/tokens.ts'
import type { TestApi } from './api.ts'
import { bringTo } from './states.ts'
import { BROWSER } from './trackedMail.ts'

const TEN_MINUTES_MS = 10 * 60 * 1000

/**
 * Opens the mail of a node with a browser, some minutes after it was delivered.
 * @throws Error if there is no such mail
 */
export async function openMail(
  { db, deps, app }: Pick<TestApi, 'db' | 'deps' | 'app'>,
  { executionId, nodeId }: { executionId: string; nodeId: string },
): Promise<void> {
  const { id: emailId } = await db
    .selectFrom('emails')
    .select('id')
    .where('execution_id', '=', executionId)
    .where('node_id', '=', nodeId)
    .executeTakeFirstOrThrow()
  const at = new Date(Date.now() - TEN_MINUTES_MS)
  const [deliveryId] = await bringTo(db, { emailId }, 'delivered', at)
  const token = openToken(deps.secrets.mac('tracking'), deliveryId ?? 0)
  const visit = { headers: { 'user-agent': BROWSER } }
  const from = { incoming: { socket: { remoteAddress: '198.51.100.7' } } }
  const { status } = await app.request(`/t/o/${token}`, visit, from)
  if (status !== 200) throw new Error(`the pixel of ${emailId} answered ${status}`)
}
