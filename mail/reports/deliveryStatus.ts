// Reads a delivery status notification (RFC 3464).
import { type Bounce, classifyReply } from '../../rules/mail/bounceRules.ts'
import { type Fields, readFieldGroups } from './reportFields.ts'
import { findStatus } from './statusCodes.ts'

/** RFC 3464 section 2.3.3; the most serious first. */
const actions = ['failed', 'delayed', 'relayed', 'expanded', 'delivered'] as const
type Action = (typeof actions)[number]

export type DeliveryStatus =
  /** `status` is for example `5.1.1`; null if the report has none. */
  | { action: 'failed'; bounce: Bounce; status: string | null }
  | { action: Exclude<Action, 'failed'> }

/**
 * The most serious group of a message/delivery-status part; of equal ones the first. Its addresses are ignored:
 * the return path names the delivery, and forwarding changes addresses.
 * @returns null if no group has an action or a status
 */
export function readDeliveryStatus(text: string): DeliveryStatus | null {
  let gravest: { action: Action; group: Fields } | null = null
  for (const group of readFieldGroups(text)) {
    const action = actionOf(group)
    if (action === null) continue
    if (gravest && actions.indexOf(action) >= actions.indexOf(gravest.action)) continue
    gravest = { action, group }
    if (action === 'failed') break
  }
  if (gravest === null) return null
  const { action, group } = gravest
  return action === 'failed' ? { action, ...failureOf(group) } : { action }
}

/** The action of a group. If it is missing or unknown, it is derived from the status. */
function actionOf(group: Fields): Action | null {
  const given = /^[a-z]+/i.exec(group.get('action') ?? '')?.[0].toLowerCase()
  const known = actions.find((action) => action === given)
  if (known) return known
  const { code, enhanced } = findStatus(
    `${group.get('status') ?? ''} ${group.get('diagnostic-code') ?? ''}`,
  )
  switch (enhanced?.charAt(0) ?? String(code ?? '').charAt(0)) {
    case '5':
      return 'failed'
    case '4':
      return 'delayed'
    case '2':
      return 'delivered'
    default:
      // The group has an unknown action and no status, so nothing says that the message was delivered.
      return given !== undefined ? 'failed' : null
  }
}

function failureOf(group: Fields): { bounce: Bounce; status: string | null } {
  const stated = findStatus(group.get('status') ?? '').enhanced
  const diagnostic = group.get('diagnostic-code') ?? ''
  const said = findStatus(diagnostic)
  // The receiving server's own reply is more exact than the status field, unless they contradict each other.
  const agree = stated === null || said.enhanced?.charAt(0) === stated.charAt(0)
  const status = agree ? (said.enhanced ?? stated) : stated
  return { status, bounce: classifyReply({ code: said.code, enhanced: status, reply: diagnostic }) }
}
