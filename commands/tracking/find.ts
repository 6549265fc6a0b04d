// Finds the delivery that the token of a pixel or a tracked link names.
import { findTrackedDelivery, type TrackedDelivery } from '../../db/tracking/reads.ts'
import { readTrackingToken } from '../../mail/tracking/tokens.ts'
import type { CommandDeps } from '../deps.ts'

/**
 * No workspace is needed: the token names a delivery, and its row the workspace.
 * @param kind the expected kind of token: that of a pixel is not valid for a link, and the other way round
 * @returns undefined if the token is malformed, forged or of the other kind, or if the delivery no longer exists
 */
export async function findTracked(
  { db, secrets }: Pick<CommandDeps, 'db' | 'secrets'>,
  kind: 'open' | 'click',
  text: string,
): Promise<TrackedDelivery | undefined> {
  const token = readTrackingToken(secrets.macCheck('tracking'), text)
  if (token?.kind !== kind) return undefined
  return findTrackedDelivery(db, token.deliveryId, token.kind === 'click' ? token.index : null)
}
