// The table of environment variables, from the schema that parses them.
import { z } from 'zod'
import { Variables } from '../../runtime/environment.ts'
import { code, markdownTable } from './markdown.ts'

/** Defaults that are given as lists are written with commas, as in the environment. */
function defaultOf(schema: z.ZodType): string {
  const said = z.globalRegistry.get(schema)?.['default_text']
  if (typeof said === 'string') return said
  if (!(schema instanceof z.ZodDefault)) return schema.isOptional() ? '' : 'required'
  const value: unknown = schema.def.defaultValue
  return code(Array.isArray(value) ? value.join(',') : String(value))
}

/**
 * Each variable with its default and its meaning.
 * @throws Error for a variable without a description
 */
export function variablesTable(): string {
  const rows = Object.entries(Variables.shape).map(([name, schema]) => {
    if (!schema.description) throw new Error(`${name} has no description in runtime/environment.ts`)
    return [code(name), defaultOf(schema), schema.description]
  })
  return markdownTable(['variable', 'default', 'meaning'], rows)
}
