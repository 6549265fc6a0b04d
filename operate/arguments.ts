// Reads the options of a command line. Unknown ones print how the command is used.
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values']

/** Prints what is wrong and how the command is used, and exits 2. */
export function failUsage(text: string, usage: string): never {
  process.stderr.write(`${text}\n${usage}`)
  process.exit(2)
}

/** The options that were given. `--help` prints the usage and exits 0; unknown words exit 2. */
export function readArguments<const T extends Options>(options: T, usage: string): Values<T> {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } })
    if ((values as { help?: boolean }).help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    return values as Values<T>
  } catch (err) {
    return failUsage(err instanceof Error ? err.message : String(err), usage)
  }
}
