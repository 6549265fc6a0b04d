// Whether mail may be sent from a domain, whoever asks for it.
import type { SendingDomain } from '../../db/domains/sending.ts'
import { areTestAddresses } from '../../rules/mail/testAddresses.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { maySendFrom } from '../../rules/states.ts'
import type { CommandDeps } from '../deps.ts'

export type SenderRefusal = Refusal<
  'domain_not_found' | 'domain_not_of_key' | 'domain_not_verified'
>

/**
 * The domain, if mail may be sent from it. Mail to test addresses alone needs no verified one.
 * @param asked `onlyDomainId`: the domain to which the caller is bound; `domain`: the workspace's of that name, if there is
 *   one; `recipients`: bare addresses
 */
export function checkSender(
  { config }: Pick<CommandDeps, 'config'>,
  asked: {
    onlyDomainId: string | null
    domainName: string
    domain: SendingDomain | null
    recipients: readonly string[]
  },
): SendingDomain | SenderRefusal {
  const { onlyDomainId, domainName: name, domain } = asked
  if (onlyDomainId !== null && onlyDomainId !== domain?.id) {
    return refuse('domain_not_of_key', { name })
  }
  if (!domain) return refuse('domain_not_found', { name })
  const mayBeUnverified =
    config.allowUnverifiedDomains || areTestAddresses(asked.recipients, config.simulatorDomain)
  if (!maySendFrom(domain.status) && !mayBeUnverified) {
    return refuse('domain_not_verified', { name })
  }
  return domain
}
