// The dependencies of every command: database, clock, ids, secrets, wake. Nothing of a request.
import type { Db } from '../db/connect.ts'
import type { Wake } from '../db/wake.ts'
import type { Renderer } from '../mail/content/renderer.ts'
import type { NewId, WorkspaceId } from '../rules/ids.ts'
import type { AddressMac } from '../rules/mac.ts'
import type { Secrets } from '../runtime/secrets.ts'
import type { DomainSettings } from './domains/item.ts'

export interface CommandDeps {
  /** Inside `transact` this is the open transaction, so that a command can pass its deps to another command. */
  db: Db
  now: () => Date
  newId: NewId
  secrets: Secrets
  /** Finds opt-outs by an address that they do not hold. */
  addressMac: AddressMac
  /** Wakes workers that wait for new rows. Inside `transact` the wake-up is sent after the commit. */
  wake: Wake
  renderer: Renderer
  config: DomainSettings & {
    /** Whether mail may be sent from unverified domains, for development. */
    allowUnverifiedDomains: boolean
    /** The domain of test addresses, in lower case. */
    simulatorDomain: string
    /** Whether webhooks may have any http URL. */
    allowPrivateWebhooks: boolean
  }
}

/** The additional dependency of commands that revoke API keys. */
export interface RevokingDeps extends CommandDeps {
  /** Called when keys of a workspace were revoked. Inside `transact` it is called after the commit. */
  keysRevoked: (workspaceId: WorkspaceId) => void
}
