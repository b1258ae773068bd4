"""What a person sees and touches in a notebook: lane views, the board, forms for required input."""
