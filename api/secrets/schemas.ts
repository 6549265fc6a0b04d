// Schemas of secrets. None of them shows a value.
import { z } from '@hono/zod-openapi'
import { limits } from '../../rules/limits.ts'
import { isSecretName } from '../../rules/secretNames.ts'
import { textField } from '../http/fields.ts'

export const SecretName = z.object({
  name: z
    .string()
    .refine(
      isSecretName,
      `must be 1-${limits.secretNameCharsMax} letters, digits or _, and not begin with a digit`,
    )
    .openapi({
      description: `1-${limits.secretNameCharsMax} letters, digits or \`_\`, no digit first: designs read it as \`{{ secrets.NAME }}\``,
    }),
})

export const StoredName = z.object({
  name: z.string().openapi({ description: 'As it was stored' }),
})

export const SecretValue = z
  .object({
    value: textField(limits.secretBytesMax)
      .min(1)
      .refine(
        (text) => Buffer.byteLength(text) <= limits.secretBytesMax,
        `must not exceed ${limits.secretBytesMax} bytes`,
      )
      .openapi({ description: 'It is encrypted, and never shown again', example: 'sk_live_1' }),
  })
  .openapi('SecretValue')

export const SecretList = z
  .object({
    secrets: z
      .array(
        z.object({
          name: z.string().openapi({ description: 'As designs write it' }),
          updated: z
            .int()
            .openapi({ description: 'Milliseconds since 1970 (UTC): when its value was stored' }),
        }),
      )
      .openapi({ description: 'All of them, by name' }),
  })
  .openapi('SecretList')

export const toSecret = ({ name, updated_at }: { name: string; updated_at: Date }) => ({
  name,
  updated: updated_at.getTime(),
})
