// Reads the options of a command line. Unknown ones print how the command is used.
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values']

/** Prints what is wrong and how the command is used, and exits 2. */
export function failUsage(text: string, usage: string): never {
  process.stderr.write(`${text}\n${usage}`)
  process.exit(2)
}

/**
 * The options that were given, and the words beside them, which the command looks at itself. `--help` prints the usage
 * and exits 0; unknown options exit 2.
 */
export function readWords<const T extends Options>(
  options: T,
  usage: string,
): { values: Values<T>; words: string[] } {
  return read(options, usage, true)
}

/** The options that were given. `--help` prints the usage and exits 0; unknown words exit 2. */
export function readArguments<const T extends Options>(options: T, usage: string): Values<T> {
  return read(options, usage, false).values
}

function read<const T extends Options>(options: T, usage: string, allowPositionals: boolean) {
  try {
    const all = { ...options, help: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ options: all, allowPositionals })
    if ((values as { help?: boolean }).help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    return { values: values as Values<T>, words: positionals }
  } catch (err) {
    return failUsage(err instanceof Error ? err.message : String(err), usage)
  }
}
