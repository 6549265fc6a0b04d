// Schemas of fields that several kinds have, each with the description that all of them share.
import { z } from 'zod'
import { spanMsMax } from '../duration.ts'
import { limits } from '../limits.ts'

/** Whole milliseconds. */
export const ms = z.int().min(0).max(spanMsMax)

/** ISO 8601. */
export const duration = z.string().describe('An ISO 8601 duration, such as `PT30M`, `P3D` or `P1M`')

export const eventName = z
  .string()
  .min(1)
  .max(limits.eventNameCharsMax)
  .describe(
    'Name of an event: letters, digits and `. _ - : /`. Events that the service records itself work too, such as ' +
      '`email.clicked`',
  )

export const audienceId = z.string().describe('Id of an audience of the workspace')

export const workflowId = z.string().describe('Id of a workflow of the workspace')

export const mailbox = z.string().describe('One address, as `ada@acme.com` or `Ada <ada@acme.com>`')

export const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/)

/** An IANA name, or `contact`. */
export const timezone = z
  .string()
  .describe(
    'An IANA time zone such as `Europe/Berlin`, or `contact`: the property `timezone` of the contact',
  )
  .meta({ default: 'contact' })
  .exactOptional()
