//! A call under way: whoever waits for it drives it, and when nobody does any more, it goes on as a task of its own.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A call under way. It needs no task of its own while it is waited for, which would cost more than most stages do.
pub(super) struct UnderWay<C>
where
    C: Future + Send + 'static,
    C::Output: Send,
{
    /// None once it has ended.
    call: Option<Pin<Box<C>>>,
    runtime: Handle,
}

impl<C> UnderWay<C>
where
    C: Future + Send + 'static,
    C::Output: Send,
{
    /// Takes a call on, inside the runtime that it goes on in.
    pub(super) fn new(call: C) -> Self {
        Self { call: Some(Box::pin(call)), runtime: Handle::current() }
    }
}

impl<C> Future for UnderWay<C>
where
    C: Future + Send + 'static,
    C::Output: Send,
{
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<C::Output> {
        // Out of its place meanwhile: a call that panics does not go on.
        let Some(mut call) = self.call.take() else { return Poll::Pending };
        let polled = call.as_mut().poll(context);
        if polled.is_pending() {
            self.call = Some(call);
        }
        polled
    }
}

impl<C> Drop for UnderWay<C>
where
    C: Future + Send + 'static,
    C::Output: Send,
{
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.runtime.spawn(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_goes_on() {
        let ((go, gone), (tell, told)) = (oneshot::channel::<()>(), oneshot::channel());
        let mut call = UnderWay::new(async move {
            let _ = gone.await;
            let _ = tell.send("done");
        });
        assert!((&mut call).now_or_never().is_none());
        drop(call);
        assert!(go.send(()).is_ok());
        assert_eq!(told.await, Ok("done"));
    }

    #[tokio::test]
    async fn a_call_that_was_never_waited_for_is_made_all_the_same() {
        let (tell, told) = oneshot::channel();
        drop(UnderWay::new(async move { tell.send("done").is_ok() }));
        assert_eq!(told.await, Ok("done"));
    }

    #[tokio::test]
    async fn a_call_that_has_ended_does_not_go_on() {
        let times = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&times);
        let call = UnderWay::new(async move { counted.fetch_add(1, Ordering::SeqCst) });
        assert_eq!(call.await, 0);
        tokio::task::yield_now().await;
        assert_eq!((times.load(Ordering::SeqCst), Arc::strong_count(&times)), (1, 1));
    }
}
