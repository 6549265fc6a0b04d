// The reasons of cancellations that the service gives itself. Any other text was written by a caller or a design, and may name a contact.
import { cancelCodes } from './wire.ts'

export const ownReasons = [...cancelCodes, 'held'] as const
export type OwnReason = (typeof ownReasons)[number]
