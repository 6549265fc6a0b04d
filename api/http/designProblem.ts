// What is wrong with a design, in answers: of a check, and in the error of a design that cannot become active.
import { z } from '@hono/zod-openapi'
import { problemCodeNames } from '../../rules/design/problemCodes.ts'

export const DesignProblem = z
  .object({
    node_id: z
      .string()
      .nullable()
      .openapi({ description: 'The node; null when it is about an edge or the whole design' }),
    path: z.string().openapi({
      description: "Where it is in the design, as `nodes.3.data.duration`; '' for the whole design",
    }),
    message: z.string().openapi({ description: 'The field, what came, and what is allowed' }),
    code: z.enum(problemCodeNames).openapi({
      description: 'What kind of problem it is: a code that does not change',
    }),
  })
  .openapi('DesignProblem')
