// Finds the delivery that the token of a pixel or of a tracked link names, when it is ours.
import { findTrackedDelivery, type TrackedDelivery } from '../../db/tracking/reads.ts'
import { readTrackingToken } from '../../mail/tracking/tokens.ts'
import type { CommandDeps } from '../deps.ts'

/**
 * The token names the workspace.
 * @param kind a pixel's token opens no link, nor the other way round
 * @returns undefined for a token that is malformed, forged, of the other kind or of mail that is gone
 */
export async function findTracked(
  { db, secrets }: Pick<CommandDeps, 'db' | 'secrets'>,
  kind: 'open' | 'click',
  text: string,
): Promise<TrackedDelivery | undefined> {
  const token = readTrackingToken(secrets.mac('tracking'), text)
  if (token?.kind !== kind) return undefined
  return findTrackedDelivery(db, token.deliveryId, token.kind === 'click' ? token.index : null)
}
