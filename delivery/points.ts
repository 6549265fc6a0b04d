// The trace points of a delivery, for who subscribes to the channel `dripline:delivery` (docs/operating.md#trace-points).
import { channel } from 'node:diagnostics_channel'

/**
 * In the order in which an attempt passes them. A point that is named for what is done comes after it, in the database
 * too: `claimed`, `marked` and `settled` are committed.
 */
export type DeliveryPoint =
  | 'claim'
  | 'claimed'
  | 'compose'
  | 'composed'
  | 'mark'
  | 'marked'
  | 'replied'
  | 'settle'
  | 'settled'

const points = channel('dripline:delivery')

/**
 * Tells subscribers, at once, that a delivery passes a point. It costs nothing while there are none.
 * @param id of the delivery; null before a claim, which does not know what it will find
 */
export function passPoint(point: DeliveryPoint, id: number | null): void {
  if (points.hasSubscribers) points.publish({ point, delivery_id: id })
}
