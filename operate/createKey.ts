// `npm run key:create`: makes an API key. The last line of the output is the key alone.
import { createApiKey } from '../commands/api-keys/create.ts'
import { connect } from '../db/connect.ts'
import { normalizeContactEmail } from '../rules/addresses.ts'
import { isStorableText } from '../rules/jsonFault.ts'
import { limits } from '../rules/limits.ts'
import { isOneLine } from '../rules/oneLine.ts'
import { permissions } from '../rules/permissions.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { failUsage, readArguments } from './arguments.ts'
import { sayFailure } from './failure.ts'

const USAGE = `Usage: npm run key:create -- [--workspace NAME] [--name NAME] [--permission ${permissions.join('|')}]
       [--email OWNER_ADDRESS] [--first-name NAME] [--last-name NAME]
Needs DATABASE_URL. The workspace is made when it is new.
`

/** What the API takes for a name, and in one line, since lists of keys are printed. */
const isName = (text: string): boolean =>
  text.trim() !== '' &&
  text.length <= limits.nameCharsMax &&
  isOneLine(text) &&
  isStorableText(text)

const values = readArguments(
  {
    workspace: { type: 'string', default: 'default' },
    name: { type: 'string', default: 'command line' },
    permission: { type: 'string', default: 'full_access' },
    email: { type: 'string' },
    'first-name': { type: 'string' },
    'last-name': { type: 'string' },
  },
  USAGE,
)
const permission = permissions.find((known) => known === values.permission)
if (!permission) failUsage(`Unknown permission ${values.permission}`, USAGE)
for (const option of ['workspace', 'name', 'first-name', 'last-name'] as const) {
  const text = values[option]
  if (text !== undefined && !isName(text))
    failUsage(`--${option} must be one line of 1 to ${limits.nameCharsMax} characters`, USAGE)
}
if (values.email !== undefined && normalizeContactEmail(values.email) === null)
  failUsage('--email must be an address such as ada@example.com', USAGE)
const { databaseUrl } = readOperatorConfig(process.env, ['databaseUrl'])

const { db } = connect({
  url: databaseUrl,
  poolSize: 2,
  name: 'dripline-key',
  onIdleError: () => undefined,
})
const now = () => new Date()
try {
  const made = await createApiKey(
    { db, newId: createNewId(now), now },
    {
      workspaceName: values.workspace,
      name: values.name,
      permission,
      ...(values.email !== undefined
        ? {
            user: {
              email: values.email,
              firstName: values['first-name'] ?? null,
              lastName: values['last-name'] ?? null,
            },
          }
        : {}),
    },
  )
  process.stdout.write(
    `Key ${made.keyId} of workspace "${values.workspace}", shown this once:\n${made.token}\n`,
  )
} catch (err) {
  sayFailure('No key was made.', err)
} finally {
  await db.destroy()
}
