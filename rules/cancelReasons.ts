// What the service itself says of why an execution was cancelled. Any other text a caller or a design has written.
import { cancelCodes } from './wire.ts'

export const ownReasons = [...cancelCodes, 'held'] as const
