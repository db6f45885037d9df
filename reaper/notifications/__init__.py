"""Events as they leave: CloudEvents, signed as Standard Webhooks, sent to addresses that were checked."""
