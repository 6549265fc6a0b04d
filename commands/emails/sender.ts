// Whether mail may be sent from a domain, whoever asks for it.
import type { SendingDomain } from '../../db/domains/sending.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { maySendFrom } from '../../rules/states.ts'
import type { CommandDeps } from '../deps.ts'

export type SenderRefusal = Refusal<
  'domain_not_found' | 'domain_not_of_key' | 'domain_not_verified'
>

/**
 * The domain, if mail may be sent from it.
 * @param asked `onlyDomainId`: the domain to which the caller is bound; `domain`: the workspace's of that name, if there is one
 */
export function checkSender(
  { config }: Pick<CommandDeps, 'config'>,
  asked: { onlyDomainId: string | null; domainName: string; domain: SendingDomain | null },
): SendingDomain | SenderRefusal {
  const { onlyDomainId, domainName: name, domain } = asked
  if (onlyDomainId !== null && onlyDomainId !== domain?.id) {
    return refuse('domain_not_of_key', { name })
  }
  if (!domain) return refuse('domain_not_found', { name })
  if (!maySendFrom(domain.status) && !config.allowUnverifiedDomains) {
    return refuse('domain_not_verified', { name })
  }
  return domain
}
